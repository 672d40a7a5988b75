package spanlabels

import (
	"encoding/binary"
)

// encode is hex.Encode for ids of a multiple of 4 bytes. It writes 8 digits at a time: byte by
// byte, the ids would take a fifth of a span's time.
func encode(dst, src []byte) {
	for ; len(src) >= 4; dst, src = dst[8:], src[4:] {
		x := uint64(binary.LittleEndian.Uint32(src))
		x = (x | x<<16) & 0x0000FFFF0000FFFF
		x = (x | x<<8) & 0x00FF00FF00FF00FF
		x = (x>>4 | x<<8) & 0x0F0F0F0F0F0F0F0F // one digit a byte
		letters := (x + 0x0606060606060606) >> 4 & 0x0101010101010101
		binary.LittleEndian.PutUint64(dst, x+0x3030303030303030+letters*('a'-'0'-10))
	}
}
