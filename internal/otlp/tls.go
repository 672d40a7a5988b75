package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/perfline/perfline/internal/environ"
)

// tlsConfig returns what a connection is secured with, nil for a connection without TLS. It refuses certificates and
// keys that cannot be used, also where others win. With gRPC, certificates secure a connection that is otherwise
// insecure, as with OpenTelemetry's exporters.
func tlsConfig(signal Signal, protocol string, insecure bool) (*tls.Config, error) {
	certificates := environ.OfSignal(signal.Variable, "CERTIFICATE")
	clients, keys := environ.OfSignal(signal.Variable, "CLIENT_CERTIFICATE"), environ.OfSignal(signal.Variable, "CLIENT_KEY")
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	for i := range certificates { // the signal's come first, and win
		authorities, err := authoritiesOf(certificates[i])
		if err != nil {
			return nil, err
		}
		client, err := clientOf(clients[i], keys[i])
		if err != nil {
			return nil, err
		}
		if config.RootCAs == nil {
			config.RootCAs = authorities
		}
		if client != nil && config.Certificates == nil {
			config.Certificates = []tls.Certificate{*client}
		}
	}
	switch {
	case !insecure:
		return config, nil
	case protocol == HTTP:
		for _, name := range append(certificates, clients...) {
			if environ.Get(name) != "" {
				return nil, fmt.Errorf("exporter: %s: must be unset where the connection is without TLS", name)
			}
		}
	case config.RootCAs != nil || config.Certificates != nil:
		return config, nil
	}
	return nil, nil //nolint:nilnil // documented: nil means without TLS
}

// authoritiesOf returns the certificates in the file that a variable names, nil if it is unset.
func authoritiesOf(variable string) (*x509.CertPool, error) {
	if environ.Get(variable) == "" {
		return nil, nil //nolint:nilnil // documented
	}
	pem, err := readFile(variable)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("exporter: %w: it has no certificate", environ.Error(variable))
	}
	return pool, nil
}

// clientOf returns the program's own certificate, nil if both variables are unset.
func clientOf(certificate, key string) (*tls.Certificate, error) {
	switch hasCertificate, hasKey := environ.Get(certificate) != "", environ.Get(key) != ""; {
	case !hasCertificate && !hasKey:
		return nil, nil //nolint:nilnil // documented
	case !hasCertificate || !hasKey:
		return nil, fmt.Errorf("exporter: %s and %s: must be set both or not at all", certificate, key)
	}
	certificatePEM, err := readFile(certificate)
	if err != nil {
		return nil, err
	}
	keyPEM, err := readFile(key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificatePEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("exporter: %s and %s: must be a certificate and its key: %w", certificate, key, err)
	}
	return &pair, nil
}

// readFile reads the file that a variable names.
func readFile(variable string) ([]byte, error) {
	content, err := os.ReadFile(environ.Get(variable))
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return nil, fmt.Errorf("exporter: %w: %w", environ.Error(variable), path.Err) // without the name, which may be a key
	}
	return content, err
}
