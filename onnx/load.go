package onnx

import (
	"errors"
	"io"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// chunk is the number of bytes of an external tensor held in memory besides the device's
// buffer.
const chunk = 4 << 20

// Load puts a tensor of a file on a stream's device. External data is read in chunks,
// directly into the device's memory if that is host memory. Strings are placed on
// tensor.Host if the device cannot hold them.
func Load(s *tensor.Stream, t *model.Tensor) (*tensor.Tensor, error) {
	const op = "Load"
	switch {
	case s == nil:
		return nil, layout.Errorf(device.ErrInvalid, op, "the stream is nil")
	case t == nil:
		return nil, layout.Errorf(device.ErrInvalid, op, "the tensor is nil")
	}
	if t.Type == layout.String {
		if !s.Device().Info().Strings {
			s = tensor.Host()
		}
		return tensor.FromSlice(s, t.Strings, nonNil(t.Dims)...)
	}
	if t.External == nil {
		return tensor.FromBytes(s, t.Type, t.Data, t.Dims...)
	}
	from, err := t.Open() // checks that the file has the bytes before allocating memory
	if err != nil {
		return nil, err
	}
	defer from.Close()
	x, err := tensor.Empty(s, t.Type, t.Dims...)
	if err != nil {
		return nil, err
	}
	if err := stream(s, x.Buffer(), from); err != nil {
		return nil, layout.Named(op, errors.Join(err, x.Release()))
	}
	return x, nil
}

// stream copies a file's bytes to a buffer.
func stream(s *tensor.Stream, to device.Buffer, from *model.Reader) error {
	var room []byte
	host, inPlace := device.As[device.HostMemory](s.Device())
	if inPlace {
		room, inPlace = host.HostBytes(to)
	}
	if !inPlace {
		room = make([]byte, min(chunk, from.Size()))
	}
	for off := int64(0); off < from.Size(); {
		n := min(chunk, from.Size()-off)
		piece := room[:n]
		if inPlace {
			piece = room[off:][:n]
		}
		if _, err := from.ReadAt(piece, off); err != nil && err != io.EOF {
			return err
		}
		if !inPlace {
			if err := s.Queue().Write(to, off, piece); err != nil {
				return err
			}
		}
		off += n
	}
	return nil
}

// LoadValue is Load for a value of any kind.
func LoadValue(s *tensor.Stream, v *model.Value, t model.Type) (Value, error) {
	const op = "LoadValue"
	if v == nil {
		return nil, layout.Errorf(device.ErrInvalid, op, "the value is nil")
	}
	switch v.Kind {
	case model.TensorType:
		return Load(s, v.Tensor)
	case model.SequenceType, model.OptionalType:
		all := &Sequence{Elem: elemOf(&t)}
		if err := countItems(op, all, len(v.Items)); err != nil {
			return nil, err
		}
		item := model.Type{}
		if t.Item != nil {
			item = *t.Item
		}
		for i := range v.Items {
			x, err := LoadValue(s, &v.Items[i], item)
			if err != nil {
				return nil, errors.Join(err, all.Release())
			}
			all.Items = append(all.Items, x)
			if all.Elem == layout.Invalid { // the type does not say
				all.Elem = elemOfValue(x)
			}
			if elem := elemOfValue(x); elem != all.Elem {
				err := layout.Errorf(device.ErrInvalid, op, "value %d of %v is of %v; it must be of %v", i, v.Kind, elem, all.Elem)
				return nil, errors.Join(err, all.Release())
			}
		}
		switch {
		case v.Kind == model.SequenceType:
			return all, nil
		case len(all.Items) == 0:
			return &Optional{Elem: all.Elem}, nil
		case len(all.Items) == 1:
			return &Optional{Elem: all.Elem, Value: all.Items[0]}, nil
		}
		err := layout.Errorf(device.ErrInvalid, op, "an optional of %d values", len(all.Items))
		return nil, errors.Join(err, all.Release())
	}
	return nil, layout.Errorf(device.ErrUnsupported, op, "a value of type %v", v.Kind)
}

// elemOf returns the element type of the tensors in a value of type t.
func elemOf(t *model.Type) layout.DType {
	for t.Item != nil {
		t = t.Item
	}
	return t.Elem
}

// StoreValue converts a value to its file form: one transfer to the host for each tensor.
func StoreValue(name string, v Value) (*model.Value, error) {
	return storeValue("StoreValue", name, v, func(to *model.Value, x *tensor.Tensor) (err error) {
		to.Tensor = &model.Tensor{Name: to.Name, Type: x.DType(), Dims: x.Shape()}
		if x.DType() == layout.String {
			to.Tensor.Strings, err = tensor.Values[string](x)
		} else {
			to.Tensor.Data, err = x.Bytes()
		}
		return err
	})
}

// SaveValue writes a value to a data file, in the format of ONNX's test data. It reads the
// elements from the device in chunks while it writes. An existing file is replaced
// atomically or left alone. A value of more than 2 GiB, protobuf's limit, is refused before
// anything is written.
func SaveValue(path, name string, v Value) error {
	stored, err := storeValue("SaveValue", name, v, func(to *model.Value, x *tensor.Tensor) error {
		to.Tensor, to.Source = &model.Tensor{Name: to.Name, Type: x.DType(), Dims: x.Shape()}, x
		return nil
	})
	if err != nil {
		return err
	}
	return model.SaveValue(path, stored)
}

// storeValue converts a value to its file form, with store for its tensors.
func storeValue(op, name string, v Value, store func(to *model.Value, x *tensor.Tensor) error) (*model.Value, error) {
	out := &model.Value{Name: name}
	var items []Value
	if absent(v) {
		return nil, layout.Errorf(device.ErrInvalid, op, "the value is nil")
	}
	switch v := v.(type) {
	case *tensor.Tensor:
		out.Kind = model.TensorType
		return out, store(out, v)
	case *Sequence:
		out.Kind, items = model.SequenceType, v.Items
	case *Optional:
		out.Kind = model.OptionalType
		if v.Value != nil {
			items = []Value{v.Value}
		}
	default:
		return nil, layout.Errorf(device.ErrInvalid, op, "%T is not a value", v)
	}
	if err := countItems(op, out, len(items)); err != nil {
		return nil, err
	}
	for _, item := range items {
		x, err := storeValue(op, "", item, store)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, *x)
	}
	return out, nil
}

// sizeOf returns the size of a loaded tensor in bytes; a string counts as 16.
func sizeOf(t *model.Tensor) (int64, error) {
	if t.Type == layout.String {
		return t.Dims.Bytes(layout.Complex128) // the size of a Go string
	}
	return t.Dims.Bytes(t.Type)
}

// nonNil makes a scalar's shape explicit where nil would mean one axis.
func nonNil(dims []int64) []int64 {
	if dims == nil {
		return []int64{}
	}
	return dims
}
