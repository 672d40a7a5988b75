package service

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	Main() // the service is this program again
	goleak.VerifyTestMain(m)
}
