package frameworks

import (
	"github.com/labstack/echo/v5"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// Echo5Route is a middleware for echo v5.
func Echo5Route(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c *echo.Context) error {
		bridgehttp.SetRoute(c.Request().Context(), c.Path())
		return next(c)
	}
}
