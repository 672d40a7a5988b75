package main

import (
	"context"
	"fmt"

	"github.com/perfline/perfline/bridge"
)

// undecided are requests that the sampler drops, beside the same ones that the reference samples.
// All are in the same rounds.
var undecided = []row{
	{none, shapes[0], variants[0]},
	{reference + ", sampled", shapes[0], variants[1]},
	{reference + ", not sampled", shapes[1], variants[1]},
	{forgetful, shapes[1], variant{forgetful, native, perflineStart(bridge.KeepPolicy{Off: true})}},
	{recordedAndDropped, shapes[1], variant{pipelined, native, perflineStart(bridge.KeepPolicy{})}},
	{pipelined + ", recorded and dropped, Factor 3", shapes[1],
		variant{pipelined, native, perflineStart(bridge.KeepPolicy{Factor: 3, PerSecond: 1})}},
	{pipelined + ", recorded and kept", shapes[1],
		variant{pipelined, native, perflineStart(bridge.KeepPolicy{Share: 1, PerSecond: -1})}},
}

const recordedAndDropped = pipelined + ", recorded and dropped"

func keepRounds(ctx context.Context, o options) (result, error) {
	return rounds(ctx, o, "not sampled", shapes[0].title+", not sampled", undecided)
}

// runKept prints what requests cost that the sampler drops and that a policy keeps or drops again.
func runKept(ctx context.Context, o options) error {
	r, err := keepRounds(ctx, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.out, "%s\n\n%s", o.conditions(), r.table())
	return addFigures(o, keptBudgetsOf(r))
}

func keptBudgets(ctx context.Context, o options) ([]budget, error) {
	r, err := keepRounds(ctx, o)
	if err != nil {
		return nil, err
	}
	return keptBudgetsOf(r), nil
}

// keptBudgetsOf compares requests that the sampler drops with one that the reference samples.
func keptBudgetsOf(r result) (all []budget) {
	for i := 2; i < len(r.names); i++ {
		all = append(all, ratioBudget("unsampled, "+r.names[i]+cpuRatioSampled, r.against(i)))
	}
	return all
}
