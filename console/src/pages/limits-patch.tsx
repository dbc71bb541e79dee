import { useSignal } from '@preact/signals'
import type { Limit } from '../types.js'
import { Card, Copy, Pre } from '../ui/parts.js'

interface Props {
  readonly section: 'keys' | 'groups'
  readonly name: string
  readonly limits: readonly Limit[]
  /** Keys of the store are changed by the admin API, not in the file. */
  readonly isStored: boolean
}

const UNITS = ['budget', 'requests', 'tokens'] as const
const EXAMPLES = { budget: '50 USD/month', requests: '600/min', tokens: '1000000/day' } as const

/** Those that have no window: they stay as they are. */
const KEPT = ['in_flight', 'streams', 'max_output'] as const

/** As the file says them, with commas between several windows. */
function written(unit: string, limits: readonly Limit[]): string {
  return limits
    .filter(one => one.unit === unit && one.window !== null && one.window !== 'request')
    .map(({ limit, window }) => {
      const amount = unit === 'budget' ? `${limit} USD` : String(limit)
      return unit === 'budget' && window === 'total' ? amount : `${amount}/${window}`
    })
    .join(', ')
}

function windowsOf(typed: string): readonly string[] {
  return typed
    .split(',')
    .map(one => one.trim())
    .filter(Boolean)
}

/** Other limits of a key or a group, as a part of the file to copy. */
export function LimitsPatch({ section, name, limits, isStored }: Props) {
  const values = {
    budget: useSignal(written('budget', limits)),
    requests: useSignal(written('requests', limits)),
    tokens: useSignal(written('tokens', limits)),
  }
  const kept = KEPT.flatMap(unit => {
    const known = limits.find(one => one.unit === unit)
    return known === undefined ? [] : [[unit, known.limit] as const]
  })
  const set = [
    ...UNITS.flatMap(unit => {
      const windows = windowsOf(values[unit].value)
      return windows.length === 0 ? [] : [[unit, windows.length === 1 ? (windows[0] ?? '') : windows] as const]
    }),
    ...kept,
  ]
  const entries = set.map(([unit, value]) => `${unit}: ${Array.isArray(value) ? `[${value.join(', ')}]` : value}`)
  const own = /^[\w.-]+$/.test(name) ? name : JSON.stringify(name)
  const patch = `${section}:\n  ${own}:\n    limits: ${set.length === 0 ? '{}' : `{ ${entries.join(', ')} }`}\n`
  const request = `curl -X PATCH ${location.origin}/admin/keys/${encodeURIComponent(name)} \\\n  -H "authorization: Bearer $GATEWAY_ADMIN_KEY" -H "content-type: application/json" \\\n  -d '${JSON.stringify({ limits: Object.fromEntries(set) })}'\n`
  const shown = isStored ? request : patch
  return (
    <Card title={`Change the limits of ${name}`} class="w12" aside={<Copy text={shown} label="Copy" />}>
      <div class="fields">
        {UNITS.map(unit => (
          <label key={unit}>
            {unit[0]?.toUpperCase()}
            {unit.slice(1)}
            <input
              type="text"
              placeholder={EXAMPLES[unit]}
              value={values[unit].value}
              onInput={event => (values[unit].value = event.currentTarget.value)}
            />
          </label>
        ))}
      </div>
      <Pre>{shown}</Pre>
      <p class="mut">
        {isStored ? (
          'It is a key of the store: the admin API changes it at once.'
        ) : (
          <>
            Nothing changes here. Put it into <a href="/plan?view=file">the file</a>, which says what it would mean
            before it goes live.
          </>
        )}
      </p>
    </Card>
  )
}
