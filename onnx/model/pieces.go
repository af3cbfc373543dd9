package model

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxPieces limits in how many pieces a packed list may come. Protobuf allows
// any number, writers write one, and the decoder moves the whole list for each:
// without a limit, less than a megabyte of tiny pieces takes it minutes.
const maxPieces = 64

// checkPieces walks a message on the wire before it is decoded. It refuses
// packed lists in more than maxPieces pieces, and two occurrences of a message
// that is no list: the decoder would join them, and their lists' pieces.
func checkPieces(b []byte, md protoreflect.MessageDescriptor, depth int) error {
	if depth > maxMessages {
		return invalidf("messages are nested more than %d deep", maxMessages)
	}
	var seen map[protoreflect.FieldNumber]int
	for len(b) > 0 {
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
		if fd == nil || typ != protowire.BytesType {
			continue
		}
		most := 0
		switch {
		case fd.Kind() == protoreflect.MessageKind:
			inside, _ := protowire.ConsumeBytes(value)
			if err := checkPieces(inside, fd.Message(), depth+1); err != nil {
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
		if seen == nil {
			seen = map[protoreflect.FieldNumber]int{}
		}
		if seen[num]++; seen[num] > most {
			return invalidf("field %s of %s comes in more than %d pieces", fd.Name(), md.Name(), most)
		}
	}
	return nil
}
