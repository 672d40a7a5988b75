package frameworks

import (
	"github.com/labstack/echo/v4"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// Echo4Route is a middleware for echo v4.
func Echo4Route(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		bridgehttp.SetRoute(c.Request().Context(), c.Path())
		return next(c)
	}
}
