package model

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxPieces is the maximum number of pieces of a packed list. Protobuf allows any number,
// writers write one, and the decoder moves the whole list for each: without a limit,
// decoding less than a megabyte of tiny pieces would need minutes.
const maxPieces = 64

// maxFields is the maximum number of fields of a message type.
const maxFields = 32

// check walks an encoded message before it is decoded, and adds the memory that it will
// need. It refuses packed lists in more than maxPieces pieces; two occurrences of a message
// that is not a list, because the decoder would merge them and the pieces of their lists;
// and empty messages in lists if their type has a required field.
func (w *weight) check(b []byte, p proto.Message, what string) error {
	if len(b) > maxFile {
		return invalidf("%d bytes are more than protobuf allows in a file (%d); such a model needs external data", len(b), maxFile)
	}
	return within(w.walk(b, p.ProtoReflect().Descriptor(), 1), "this is no ONNX %s", what)
}

func (w *weight) walk(b []byte, md protoreflect.MessageDescriptor, depth int) error {
	if depth > maxMessages {
		return invalidf("messages are nested more than %d deep", maxMessages)
	}
	k := kinds()[md.FullName()]
	w.decoded += k.decoded
	w.kept += k.kept
	var seen [maxFields]uint8
	for len(b) > 0 {
		left := len(b)
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return invalidf("protobuf: %s", plain(protowire.ParseError(n)))
		}
		b = b[n:]
		fd := md.Fields().ByNumber(num)
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return invalidf("protobuf: %s", plain(protowire.ParseError(n)))
		}
		value := b[:n]
		b = b[n:]
		if typ == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		if fd == nil {
			w.decoded += 2 * int64(left-len(b)) // kept as it is, in a growing list
			continue
		}
		w.add(md, fd, typ, value)
		if typ != protowire.BytesType {
			continue
		}
		most := uint8(0)
		switch {
		case fd.Kind() == protoreflect.MessageKind:
			if fd.IsList() && len(value) == 0 && !kinds()[fd.Message().FullName()].empty {
				return invalidf("field %s of %s has an empty %s", fd.Name(), md.Name(), fd.Message().Name())
			}
			if err := w.walk(value, fd.Message(), depth+1); err != nil {
				return err
			}
			if fd.IsList() {
				continue
			}
			most = 1
		case fd.IsList() && fd.Kind() != protoreflect.StringKind && fd.Kind() != protoreflect.BytesKind:
			most = maxPieces
		default:
			continue
		}
		if i := fd.Index(); seen[i] < most {
			seen[i]++
		} else {
			return invalidf("field %s of %s comes in more than %d pieces", fd.Name(), md.Name(), most)
		}
	}
	return nil
}
