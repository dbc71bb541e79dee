import { count, day, usd } from '../format.js'
import { useFetched } from '../state/fetched.js'
import type { Limit, List, ScopeLimits } from '../types.js'
import { Bar, Card, Empty } from '../ui/parts.js'

export interface Bound extends Limit {
  readonly scope: string
  readonly name: string
  /** 1: all of it is used. */
  readonly part: number
}

export function boundsOf(all: readonly ScopeLimits[]): readonly Bound[] {
  return all
    .flatMap(({ scope, name, limits }) =>
      limits
        .filter(({ window }) => window !== 'request')
        .map(limit => ({ ...limit, scope, name, part: limit.limit === 0 ? 1 : (limit.used ?? 0) / limit.limit })),
    )
    .sort((one, other) => other.part - one.part)
}

export function wordsOf({ unit, used = 0, reserved = 0, limit, window }: Limit): string {
  const show = unit === 'budget' ? usd : count
  return `${show(used)} of ${show(limit)} ${unit === 'budget' ? 'USD' : unit.replaceAll('_', ' ')}${window === null ? '' : ` / ${window}`}${reserved > 0 ? `, ${show(reserved)} reserved` : ''}`
}

/** Leads to its use over time. Use of upstreams is with them. */
function BoundName({ bound: { scope, name } }: { readonly bound: Bound }) {
  if (scope === 'upstream' || scope === 'model')
    return <a href={`/${scope}s?name=${encodeURIComponent(name)}`}>{name}</a>
  return <a href={`/keys?${scope === 'key' ? 'name' : scope}=${encodeURIComponent(name)}`}>{name}</a>
}

export function BoundBar({ bound, isNamed = true }: { readonly bound: Bound; readonly isNamed?: boolean }) {
  const percent = Math.floor(bound.part * 100)
  const level = percent >= 100 ? 'bad' : percent >= 80 ? 'warn' : 'mut'
  return (
    <div class="bud">
      <strong>{isNamed ? <BoundName bound={bound} /> : bound.unit.replaceAll('_', ' ')}</strong>
      <span class={level}>{percent} %</span>
      <Bar part={bound.part} label={`${percent} percent of ${bound.name}, ${bound.unit}, used`} />
      <span class="mut">{wordsOf(bound)}</span>
      <span class="mut">
        {percent >= 100
          ? `refusing${bound.resets_at ? ` until ${day(bound.resets_at * 1000)}` : ''}`
          : isNamed
            ? bound.scope
            : ''}
      </span>
    </div>
  )
}

export function NearBound() {
  const { data } = useFetched<List<ScopeLimits>>('/admin/limits?order=used&limit=5', 5000)
  const bounds = boundsOf(data.value?.data ?? []).slice(0, 5)
  return (
    <Card title="Near their bound" class="w5" aside={<a href="/keys">Keys and budgets</a>}>
      {bounds.length === 0 ? (
        <Empty>
          The configuration has no limits. <code>limits: {'{ requests: 60/min, budget: 5 USD/day }'}</code> on a key
          sets some.
        </Empty>
      ) : (
        bounds.map(bound => (
          <BoundBar key={`${bound.scope}:${bound.name}:${bound.unit}:${bound.window}`} bound={bound} />
        ))
      )}
    </Card>
  )
}
