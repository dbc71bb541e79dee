import { useMemo } from 'preact/hooks'
import { count, counted, milliseconds, text, usd } from '../format.js'
import { parameter, setParameters } from '../router.js'
import { useFetched } from '../state/fetched.js'
import type { Usage } from '../types.js'
import { Card, Empty, Failure, Segments } from '../ui/parts.js'
import { type Line, Plot } from '../ui/plot.js'
import { RANGES, type Range } from '../ui/ranges.js'

const EVERY_MS = 5000
const NEAR = 0.8
const UNITS: Readonly<Record<string, string>> = { budget: 'USD', requests: 'Requests', tokens: 'Tokens' }

type Scope = 'key' | 'group' | 'model' | 'upstream'

/** What a key, group, model or upstream has used, and what its bounds have left, as bars over time. */
export function UseOverTime({ scope, name }: { readonly scope: Scope; readonly name: string }) {
  const range: Range =
    RANGES.find(one => one === parameter('range')) ?? (scope === 'key' || scope === 'group' ? '24h' : '1h')
  const query = `scope=${scope}&name=${encodeURIComponent(name)}&range=${range}`
  const { data, error, again } = useFetched<Usage>(`/admin/usage?${query}`, EVERY_MS)
  const usage = data.value
  return (
    <Card
      title={scope === 'key' || scope === 'group' ? `Used and left, ${scope} ${name}` : `Over time, ${scope} ${name}`}
      class="w12"
      aside={
        <Segments label="Range" options={RANGES} value={range} onChange={next => setParameters({ range: next })} />
      }
    >
      <Failure error={error.value} again={again} />
      {usage === undefined || usage.name !== name ? (
        <div class="skeleton" />
      ) : (
        <div class="plots">
          {usage.bounds.map(bound => (
            <BoundPlot key={`${bound.unit}:${bound.window}`} usage={usage} bound={bound} />
          ))}
          <Requests usage={usage} what={scope === 'upstream' ? 'attempt' : 'request'} />
          {scope === 'group' ? null : <Times usage={usage} title={TIMES[scope]} />}
        </div>
      )}
      {usage === undefined || usage.bounds.length === 0 ? null : (
        <p class="mut">
          Windows by the time zone {usage.zone}; times by this browser's clock. A bound is not drawn if its window is
          shorter than a point of the range.
        </p>
      )}
    </Card>
  )
}

function BoundPlot({ usage, bound }: { readonly usage: Usage; readonly bound: Usage['bounds'][number] }) {
  const { unit, window, limit, used } = bound
  const isMoney = unit === 'budget'
  const show = isMoney ? usd : count
  const lines = useMemo((): readonly Line[] => {
    const isNear = (value: number): boolean => value >= NEAR * limit
    const left = used.map(value => (value === null ? null : Math.max(0, limit - value)))
    return [
      // Bars of the whole bound stand behind those of what is used.
      {
        ...{ label: 'Left', colour: '--fill', bars: true, said: left },
        values: used.map(value => (value === null ? null : Math.max(limit, value))),
      },
      { label: 'Used', colour: '--c1', bars: true, values: used },
      {
        ...{ label: 'From 80 %', colour: '--bad', bars: true },
        values: used.map(value => (value !== null && isNear(value) ? value : null)),
      },
    ]
  }, [used, limit])
  const now = used.at(-1) ?? 0
  const words = `${UNITS[unit] ?? unit} ${window === 'total' ? 'in all' : `per ${window}`}`
  return (
    <div>
      <h3>
        {words}: {show(now)} of {show(limit)}, {show(Math.max(0, limit - now))} left
      </h3>
      <Plot
        title={words}
        summary={`${show(now)} of ${show(limit)} used now.`}
        times={usage.t}
        lines={lines}
        unit={show}
        height={150}
      />
    </div>
  )
}

interface RequestsProps {
  readonly usage: Usage
  /** What is counted: requests, or attempts at an upstream. */
  readonly what: string
}

function Requests({ usage, what }: RequestsProps) {
  const { requests, failed, tokens, usd: spent, range } = usage
  const lines = useMemo(
    (): readonly Line[] => [
      { label: `All ${what}s`, colour: '--c1', bars: true, values: requests },
      { label: 'Failed', colour: '--bad', bars: true, values: failed },
    ],
    [usage, what],
  )
  const add = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0)
  const sum = add(requests)
  if (sum === 0)
    return (
      <Empty>
        Nothing was used in this time. Choose a longer range, or <a href="/play">try a model</a>.
      </Empty>
    )
  const lost = add(failed)
  return (
    <div>
      <h3>
        {counted(sum, what)}, {count(lost)} failed, {count(add(tokens))} tokens, {usd(add(spent))} USD in {range}
      </h3>
      <Plot
        title={`${what[0]?.toUpperCase()}${what.slice(1)}s`}
        summary={`${counted(sum, what)} in ${range}; ${count(lost)} failed.`}
        times={usage.t}
        lines={lines}
        unit={count}
        height={150}
      />
    </div>
  )
}

const TIMES = {
  key: 'Time to first token',
  model: 'Time to first token',
  upstream: 'Time of an attempt to its first content',
}

function Times({ usage, title }: { readonly usage: Usage; readonly title: string }) {
  const lines = useMemo(
    (): readonly Line[] => [
      { label: 'p50', values: usage.p50, colour: '--c1' },
      { label: 'p95', values: usage.p95, colour: '--c2', dash: [6, 3] },
    ],
    [usage],
  )
  const worst = Math.max(...usage.p95.map(value => value ?? 0))
  if (worst === 0) return null
  const show = (value: number): string => text(milliseconds(value))
  return (
    <div>
      <h3>{title}, logarithmic</h3>
      <Plot
        title={title}
        summary={`p95 is at most ${show(worst)} in ${usage.range}.`}
        times={usage.t}
        lines={lines}
        unit={show}
        height={150}
        isLog={true}
      />
    </div>
  )
}
