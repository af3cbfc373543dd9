package model

import (
	"reflect"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/onnxpb"
)

// A message of two bytes becomes structs of hundreds. So the walk that checks a file
// computes the memory that it will need and charges the process's budget before anything is
// decoded.

// weight is the memory that a file's messages need, in bytes.
type weight struct {
	decoded int64 // protobuf's structs, which live until they are converted
	kept    int64 // the API's structs
}

// read checks an encoded message, decodes it and converts it to a T. The memory of the T is
// charged until it is garbage.
func read[T any](b []byte, p proto.Message, what string, parse func(*T) error) (*T, error) {
	return convert(b, p, what, func() error { return decode(b, p, what) }, parse)
}

// convert is read with a decoder of its own.
func convert[T any](b []byte, p proto.Message, what string, decode func() error, parse func(*T) error) (*T, error) {
	w := weight{kept: int64(len(b))} // texts, elements and the rest are at most as long as in the file
	if err := w.check(b, p, what); err != nil {
		return nil, err
	}
	out := new(T)
	if err := budget.TakeFor(budget.Process(), out, "the "+what, w.kept); err != nil {
		return nil, err
	}
	if err := budget.Process().Take("the protobuf messages of the "+what, w.decoded); err != nil {
		return nil, err
	}
	defer budget.Process().Give(w.decoded)
	if err := decode(); err != nil {
		return nil, err
	}
	if err := parse(out); err != nil {
		return nil, err
	}
	return out, nil
}

// kind describes a type of message.
type kind struct {
	decoded, kept int64 // size of one message's structs
	empty         bool  // an empty one is allowed in a list
}

var kinds = sync.OnceValue(func() map[protoreflect.FullName]kind {
	all := map[protoreflect.FullName]kind{}
	var add func(protoreflect.MessageDescriptors)
	add = func(mds protoreflect.MessageDescriptors) {
		for i := range mds.Len() {
			md := mds.Get(i)
			k := kind{empty: true}
			if mt, err := protoregistry.GlobalTypes.FindMessageByName(md.FullName()); err == nil {
				bytes := reflect.TypeOf(mt.Zero().Interface()).Elem().Size()
				k.decoded = int64(bytes + bytes/8) // Go's allocation sizes are up to an eighth larger
			}
			all[md.FullName()] = k
			add(md.Messages())
		}
	}
	add(tensorDescriptor.ParentFile().Messages())

	const name = 64 // an entry in a map of unique names
	for _, of := range []struct {
		message proto.Message
		kept    uintptr
		empty   bool
	}{
		{(*onnxpb.ModelProto)(nil), size[Model](), true},
		{(*onnxpb.OperatorSetIdProto)(nil), name, false},
		{(*onnxpb.FunctionProto)(nil), size[Function]() + 2*name, false},
		{(*onnxpb.GraphProto)(nil), size[Graph]() + 2*name, true},
		{(*onnxpb.NodeProto)(nil), size[Node](), false},
		{(*onnxpb.AttributeProto)(nil), size[Attr]() + size[string]() + name, false},
		{(*onnxpb.ValueInfoProto)(nil), size[ValueInfo]() + name, false},
		{(*onnxpb.TypeProto)(nil), size[Type](), true},
		{(*onnxpb.TensorShapeProto_Dimension)(nil), 2 * size[Dim](), true},
		{(*onnxpb.TensorProto)(nil), size[Tensor]() + name + 2*size[Value](), false},
		{(*onnxpb.SparseTensorProto)(nil), 2 * size[SparseTensor](), false},
		{(*onnxpb.SequenceProto)(nil), 2 * size[Value](), true},
		{(*onnxpb.OptionalProto)(nil), 2 * size[Value](), true},
	} {
		full := of.message.ProtoReflect().Descriptor().FullName()
		all[full] = kind{decoded: all[full].decoded, kept: int64(of.kept), empty: of.empty}
	}
	return all
})

func size[T any]() uintptr { return reflect.TypeFor[T]().Size() }

// add adds the memory of a field apart from messages in it: value is its encoded value.
// Lists count twice their content, because they grow.
func (w *weight) add(md protoreflect.MessageDescriptor, fd protoreflect.FieldDescriptor, typ protowire.Type, value []byte) {
	const pointer, number, header = 8, 8, 16 // header: of a string
	n := int64(len(value))
	switch {
	case fd.Kind() == protoreflect.MessageKind:
		w.decoded += 2 * pointer
	case typ != protowire.BytesType:
		w.decoded += number
		if fd.IsList() {
			w.decoded += number
			w.kept += 2 * number
		}
	case fd.Kind() == protoreflect.StringKind || fd.Kind() == protoreflect.BytesKind:
		if fd.Number() == fieldRawData && md == tensorDescriptor {
			return // shared
		}
		w.decoded += header + n
		w.kept += header
		if fd.IsList() {
			w.decoded += 2 * header
			w.kept += header
		}
	case fd.Kind() == protoreflect.FloatKind || fd.Kind() == protoreflect.DoubleKind:
		// A packed list is as long as its encoding.
		w.decoded += n
	default: // packed list of at least one byte each
		for _, b := range value {
			if b < 0x80 {
				w.decoded += number
				w.kept += number
			}
		}
	}
}

var tensorDescriptor = (*onnxpb.TensorProto)(nil).ProtoReflect().Descriptor()
