package model

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxPieces limits in how many pieces a packed list may come. Protobuf allows
// any number, writers write one, and the decoder moves the whole list for each:
// without a limit, less than a megabyte of tiny pieces takes it minutes.
const maxPieces = 64

// maxFields is how many fields a type of message has at most.
const maxFields = 32

// check walks a message on the wire before it is decoded, and adds what it will take.
// It refuses packed lists in more than maxPieces pieces; two occurrences of a message
// that is no list: the decoder would join them, and their lists' pieces; and empty
// messages in lists of such as have a field that must be there.
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
			w.decoded += 2 * int64(left-len(b)) // kept as it is, in a list that grows
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
