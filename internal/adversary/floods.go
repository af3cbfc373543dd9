package adversary

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/restride/restride/internal/onnxpb"
	"github.com/restride/restride/onnx/model"
)

func init() {
	register(Generator{
		Name: "floods", About: "models with very many or very deep messages, most of them empty: a result or an error, within memory and time",
		Try: tryFlood,
	})
}

var floodBounds = bounds{memory: 256 << 20, time: 5 * time.Second, grace: 10 * time.Second}

func tryFlood(t *Trial) error {
	f := flood{rng: t.Rand, bytes: 1 << (10 + t.Rand.IntN(15))}
	file := f.message((&onnxpb.ModelProto{}).ProtoReflect().Descriptor(), "", 0)
	if _, err := floodBounds.hold(t.Dir, func(ctx context.Context) error {
		m, err := model.Parse(file, "")
		if err != nil {
			return err
		}
		return runModel(ctx, t.Stream, m, t.Dir)
	}); err != nil {
		return fmt.Errorf("%d bytes of %s: %w", len(file), f.said, err)
	}
	return nil
}

// A flood is a model with one list that is far too long.
type flood struct {
	rng   *rand.Rand
	bytes int    // of the list
	said  string // its name
}

// plain are the fields of messages on the way to the list, so that readers get that far.
var plain = map[protoreflect.Name][]plainField{
	"ModelProto":             {{"ir_version", varint(10)}, {"opset_import", []byte{0x10, 25}}, {"graph", nil}},
	"NodeProto":              {{"op_type", []byte("Identity")}},
	"AttributeProto":         {{"name", []byte("a")}},
	"FunctionProto":          {{"name", []byte("f")}},
	"ValueInfoProto":         {{"name", []byte("v")}},
	"TensorProto":            {{"data_type", varint(1)}, {"name", []byte("t")}},
	"TensorAnnotation":       {{"tensor_name", []byte("t")}},
	"OperatorSetIdProto":     {{"version", varint(25)}},
	"StringStringEntryProto": {{"key", []byte("k")}},
}

type plainField struct {
	name  protoreflect.Name
	value []byte
}

func varint(n uint64) []byte { return protowire.AppendVarint(nil, n) }

// message writes a message with a way to the list in it.
func (f *flood) message(md protoreflect.MessageDescriptor, path string, depth int) []byte {
	fields := md.Fields()
	var lists, inner []protoreflect.FieldDescriptor
	for i := range fields.Len() {
		fd := fields.Get(i)
		if fd.IsList() {
			lists = append(lists, fd)
		}
		if fd.Kind() == protoreflect.MessageKind {
			inner = append(inner, fd)
		}
	}
	var way protoreflect.FieldDescriptor
	var b []byte
	if len(inner) > 0 && depth < 150 && (len(lists) == 0 || f.rng.IntN(4+depth/2) > 0) {
		way = inner[f.rng.IntN(len(inner))]
		path += "." + string(way.Name())
		b = protowire.AppendTag(b, way.Number(), protowire.BytesType)
		b = protowire.AppendBytes(b, f.message(way.Message(), path, depth+1))
	} else if len(lists) > 0 {
		way = lists[f.rng.IntN(len(lists))]
		f.said = path + "." + string(way.Name())
		if len(f.said) > 200 {
			f.said = f.said[:200]
		}
		b = f.list(way)
	}
	for _, p := range plain[md.Name()] {
		if fd := fields.ByName(p.name); fd != way {
			b = append(b, wire(fd, p.value)...)
		}
	}
	return b
}

// wire writes a field.
func wire(fd protoreflect.FieldDescriptor, value []byte) []byte {
	switch fd.Kind() {
	case protoreflect.MessageKind, protoreflect.StringKind, protoreflect.BytesKind:
		return protowire.AppendBytes(protowire.AppendTag(nil, fd.Number(), protowire.BytesType), value)
	case protoreflect.FloatKind:
		return append(protowire.AppendTag(nil, fd.Number(), protowire.Fixed32Type), 0, 0, 0, 0)
	case protoreflect.DoubleKind:
		return append(protowire.AppendTag(nil, fd.Number(), protowire.Fixed64Type), 0, 0, 0, 0, 0, 0, 0, 0)
	}
	return append(protowire.AppendTag(nil, fd.Number(), protowire.VarintType), value...)
}

// list writes a list of many equal items: empty or nearly so; numbers packed or not.
func (f *flood) list(fd protoreflect.FieldDescriptor) []byte {
	var value []byte
	switch fd.Kind() {
	case protoreflect.MessageKind:
		for _, p := range plain[fd.Message().Name()] {
			if f.rng.IntN(2) == 0 {
				value = append(value, wire(fd.Message().Fields().ByName(p.name), p.value)...)
			}
		}
	case protoreflect.StringKind, protoreflect.BytesKind:
		value = slices.Repeat([]byte{'x'}, f.rng.IntN(3))
	case protoreflect.FloatKind, protoreflect.DoubleKind:
	default:
		value = varint(uint64(f.rng.IntN(2)))
		if f.rng.IntN(2) == 0 {
			return protowire.AppendBytes(protowire.AppendTag(nil, fd.Number(), protowire.BytesType), slices.Repeat(value, f.bytes))
		}
	}
	item := wire(fd, value)
	return slices.Repeat(item, f.bytes/len(item))
}
