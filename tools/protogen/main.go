// Protogen generates the Go code of the schemas in proto. The plugins come from the main module,
// which imports what they generate calls of: so both are of one version.
//
//	go run -C tools ./protogen          # writes into the module
//	go run -C tools ./protogen -diff    # fails if the generated code is not what the schemas give
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// The root of the main module is relative to the folder of module tools; the others are relative to
// the root.
const (
	root    = ".."
	schemas = "proto"
	schema  = "perfline/profiler/v1/profiler.proto"
	out     = "profiling/service"
)

const modulePath = "module=github.com/perfline/perfline/profiling/service"

var plugins = []struct{ command, parameter string }{
	{"google.golang.org/protobuf/cmd/protoc-gen-go", modulePath},
	{"connectrpc.com/connect/cmd/protoc-gen-connect-go", modulePath + ",simple"},
}

func main() {
	diff := flag.Bool("diff", false, "compare, and write nothing")
	flag.Parse()
	if err := run(context.Background(), *diff); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, diff bool) error {
	files, err := compile(ctx)
	if err != nil {
		return err
	}
	var different error
	for _, p := range plugins {
		made, err := generate(ctx, p.command, &pluginpb.CodeGeneratorRequest{
			FileToGenerate: []string{schema}, Parameter: proto.String(p.parameter),
			ProtoFile: files,
		})
		if err != nil {
			return fmt.Errorf("%s: %w", p.command, err)
		}
		for _, f := range made {
			name := filepath.Join(root, out, f.GetName())
			if !diff {
				err = os.WriteFile(name, []byte(f.GetContent()), 0o644)
			} else if is, readErr := os.ReadFile(name); readErr != nil ||
				string(is) != f.GetContent() {
				err = fmt.Errorf("%s is not what the schema gives: to make it anew, run protogen without -diff", name)
			}
			different = errors.Join(different, err)
		}
	}
	return different
}

// compile returns the schema after the files that it imports.
func compile(ctx context.Context) ([]*descriptorpb.FileDescriptorProto, error) {
	c := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(
			&protocompile.SourceResolver{ImportPaths: []string{filepath.Join(root, schemas)}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := c.Compile(ctx, schema)
	if err != nil {
		return nil, err
	}
	var files []*descriptorpb.FileDescriptorProto
	seen := map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		files = append(files, protoutil.ProtoFromFileDescriptor(f))
	}
	for _, f := range compiled {
		add(f)
	}
	return files, nil
}

// generate runs a plugin of the main module's go.mod.
func generate(ctx context.Context, plugin string,
	request *pluginpb.CodeGeneratorRequest) ([]*pluginpb.CodeGeneratorResponse_File, error) {
	input, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "run", plugin)
	cmd.Dir, cmd.Stdin, cmd.Stderr = root, bytes.NewReader(input), os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output, &response); err != nil {
		return nil, err
	}
	if response.Error != nil {
		return nil, errors.New(response.GetError())
	}
	return response.GetFile(), nil
}
