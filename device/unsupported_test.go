package device

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// least is a queue with the operations that every device has.
type least struct{ UnsupportedQueue }

func (least) Write(Buffer, int64, []byte) error { return nil }
func (least) Read([]byte, Buffer, int64) error  { return nil }
func (least) Copy(Operand, Operand) error       { return nil }
func (least) Fill(Operand, []byte) error        { return nil }
func (least) Record() (Event, error)            { return nil, nil }
func (least) WaitFor(Event) error               { return nil }
func (least) Wait() error                       { return nil }
func (least) Close() error                      { return nil }

func TestUnsupportedQueue(t *testing.T) {
	var _ Queue = least{}
	q := reflect.ValueOf(UnsupportedQueue{})
	require.Equal(t, 7, q.NumMethod())
	for i := range q.NumMethod() {
		name, call := q.Type().Method(i).Name, q.Method(i)
		var in []reflect.Value
		for k := range call.Type().NumIn() {
			in = append(in, reflect.Zero(call.Type().In(k)))
		}
		if call.Type().IsVariadic() {
			in = in[:len(in)-1]
		}
		err, _ := call.Call(in)[0].Interface().(error)
		require.ErrorIs(t, err, ErrUnsupported)
		require.EqualError(t, err, name+": the device lacks this operation")
	}
}
