package backend

import (
	"testing"

	"github.com/perfline/perfline/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
