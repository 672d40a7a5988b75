package frameworks

import (
	echo4 "github.com/labstack/echo/v4"
	echo5 "github.com/labstack/echo/v5"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// Echo4Route is a middleware for echo v4.
func Echo4Route(next echo4.HandlerFunc) echo4.HandlerFunc {
	return func(c echo4.Context) error {
		bridgehttp.SetRoute(c.Request().Context(), c.Path())
		return next(c)
	}
}

// Echo5Route is a middleware for echo v5.
func Echo5Route(next echo5.HandlerFunc) echo5.HandlerFunc {
	return func(c *echo5.Context) error {
		bridgehttp.SetRoute(c.Request().Context(), c.Path())
		return next(c)
	}
}
