import { useMemo } from 'preact/hooks'
import { count, counted, rate, text, usd } from '../format.js'
import { parameter, setParameters } from '../router.js'
import type { NamedSeries, Series } from '../types.js'
import { Card, Segments } from '../ui/parts.js'
import { type Line, Plot } from '../ui/plot.js'

const BY = ['all', 'model', 'upstream', 'key'] as const
export type By = (typeof BY)[number]
const MEASURES = ['requests', 'tokens', 'cost'] as const
/** Names with a line of their own: as many as there are colours that all can tell apart. */
const MAX_LINES = 7
const OTHER = 'other'

/** A name keeps its colour as long as the page is open. */
const slots = new Map<string, number>()

function colourOf(name: string): string {
  if (name === OTHER) return '--idle'
  if (!slots.has(name)) slots.set(name, slots.size)
  return `--c${((slots.get(name) ?? 0) % 8) + 1}`
}

/** By which names the traffic is split: a parameter of the address. */
export function splitBy(): By {
  return BY.find(one => one === parameter('by')) ?? 'all'
}

const TITLES = {
  requests: 'Requests per second',
  tokens: 'Tokens per second',
  cost: 'Cost, USD per hour',
} as const

/** Requests, tokens or money over time, of all or by name; below, what did not succeed. */
export function Traffic({ series, gapUntil }: { readonly series: Series; readonly gapUntil: number | undefined }) {
  const by = splitBy()
  const measure = MEASURES.find(one => one === parameter('of')) ?? 'requests'
  const { step, totals } = series
  const lines = useMemo(
    () => (by === 'all' ? [lineOfAll(series, measure)] : linesByName(series, measure)),
    [series, measure, by],
  )
  const failures = useMemo((): readonly Line[] => {
    const perSecond = (values: Series['requests']) => scaled(values, 'requests', series)
    return [
      { label: 'Failed', values: perSecond(series.failed), colour: '--bad', bars: true },
      { label: 'Limited', values: perSecond(series.limited), colour: '--c5', bars: true },
      { label: 'Client error', values: perSecond(series.rejected), colour: '--idle', bars: true },
    ]
  }, [series])
  const show = measure === 'cost' ? usd : (value: number) => text(rate(value))
  const peak = Math.max(0, ...series.failed.map(value => (value ?? 0) / step))
  const title = TITLES[measure]
  return (
    <Card
      title={title}
      class="w6"
      aside={
        <span class="group controls">
          <Segments
            label="Measure"
            options={MEASURES}
            value={measure}
            onChange={next => setParameters({ of: next === 'requests' ? undefined : next })}
          />
          <Segments
            label="Split by"
            options={BY}
            value={by}
            onChange={next => setParameters({ by: next === 'all' ? undefined : next })}
          />
        </span>
      }
    >
      <Plot
        title={by === 'all' ? title : `${title}, by ${by}`}
        summary={`${counted(totals.requests, 'request')} in ${series.range}.`}
        times={series.t}
        lines={lines}
        unit={show}
        height={136}
        gapUntil={gapUntil}
      />
      <h3>Did not succeed, per second</h3>
      <Plot
        title="Requests that did not succeed per second"
        summary={`Failures peak at ${text(rate(peak))}, ${count(totals.failed)} in all.`}
        times={series.t}
        lines={failures}
        unit={value => text(rate(value))}
        height={84}
        gapUntil={gapUntil}
      />
    </Card>
  )
}

type Measure = (typeof MEASURES)[number]

/** Part of a step that must be over before its rate says something. */
const MIN_PART = 0.3

/** Per second, or per hour. The last step is not over: it counts for the time that it has had. */
function scaled(values: readonly (number | null)[], measure: Measure, { step, t }: Series): readonly (number | null)[] {
  const factor = measure === 'cost' ? 3600 / 1e6 / step : 1 / step
  const part = Math.min(1, (Date.now() / 1000 - (t.at(-1) ?? 0)) / step)
  return values.map((value, at) => {
    if (value === null || at < values.length - 1) return value === null ? null : value * factor
    return part < MIN_PART ? null : (value * factor) / part
  })
}

function lineOfAll(series: Series, measure: Measure): Line {
  const values = { requests: series.requests, tokens: series.tokens, cost: series.micro_usd }[measure]
  return { label: 'All', values: scaled(values, measure, series), colour: '--c1', fill: '--fill' }
}

function linesByName(series: Series, measure: Measure): readonly Line[] {
  const all = series.series ?? []
  const columnOf = (one: NamedSeries): readonly number[] =>
    ({ requests: one.requests, tokens: one.tokens, cost: one.micro_usd })[measure]
  const named = all.filter(({ name }) => name !== OTHER)
  const rest = [...named.slice(MAX_LINES), ...all.filter(({ name }) => name === OTHER)]
  const line = (label: string, values: readonly number[]): Line => ({
    label,
    // Before the start nothing was counted.
    values: scaled(
      values.map((value, at) => (series.requests[at] === null ? null : value)),
      measure,
      series,
    ),
    colour: colourOf(label),
  })
  return [
    ...named.slice(0, MAX_LINES).map(one => line(one.name, columnOf(one))),
    ...(rest.length === 0
      ? []
      : [
          line(
            OTHER,
            series.t.map((_, at) => rest.reduce((sum, one) => sum + (columnOf(one)[at] ?? 0), 0)),
          ),
        ]),
  ]
}
