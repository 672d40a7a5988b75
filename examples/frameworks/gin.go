package frameworks

import (
	"github.com/gin-gonic/gin"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// GinRoute is a middleware for gin.
func GinRoute(c *gin.Context) { bridgehttp.SetRoute(c.Request.Context(), c.FullPath()) }
