import { useMemo } from 'preact/hooks'
import { count, usd } from '../format.js'
import { parameter, setParameters } from '../router.js'
import { useFetched } from '../state/fetched.js'
import type { Usage } from '../types.js'
import { Card, Empty, Failure, Segments } from '../ui/parts.js'
import { type Line, Plot } from '../ui/plot.js'
import { RANGES, type Range } from '../ui/ranges.js'

const EVERY_MS = 5000
const NEAR = 0.8
const UNITS: Readonly<Record<string, string>> = { budget: 'USD', requests: 'Requests', tokens: 'Tokens' }

/** What a key, group or model has used, and what its bounds have left, as bars over time. */
export function UseOverTime({ scope, name }: { readonly scope: 'key' | 'group' | 'model'; readonly name: string }) {
  const range: Range = RANGES.find(one => one === parameter('range')) ?? '24h'
  const query = `scope=${scope}&name=${encodeURIComponent(name)}&range=${range}`
  const { data, error, again } = useFetched<Usage>(`/admin/usage?${query}`, EVERY_MS)
  const usage = data.value
  return (
    <Card
      title={`Used and left, ${scope} ${name}`}
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
          <Requests usage={usage} />
        </div>
      )}
      {usage === undefined ? null : (
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

function Requests({ usage }: { readonly usage: Usage }) {
  const lines = useMemo(
    (): readonly Line[] => [{ label: 'Requests', colour: '--c1', bars: true, values: usage.requests }],
    [usage],
  )
  const sum = usage.requests.reduce((total, one) => total + one, 0)
  const tokens = usage.tokens.reduce((total, one) => total + one, 0)
  const spent = usage.usd.reduce((total, one) => total + one, 0)
  if (sum === 0) return <Empty>Nothing was used in this time.</Empty>
  return (
    <div>
      <h3>
        {count(sum)} requests, {count(tokens)} tokens, {usd(spent)} USD in {usage.range}
      </h3>
      <Plot
        title="Requests"
        summary={`${count(sum)} requests in ${usage.range}.`}
        times={usage.t}
        lines={lines}
        unit={count}
        height={150}
      />
    </div>
  )
}
