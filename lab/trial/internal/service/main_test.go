package service

import (
	"testing"

	"github.com/perfline/perfline/internal/leaktest"
)

func TestMain(m *testing.M) {
	Main() // the service is this program again
	leaktest.Main(m)
}
