import { useSignal } from '@preact/signals'
import { call, messageOf } from '../api.js'
import { day, NONE } from '../format.js'
import { parameter } from '../router.js'
import { useFetched } from '../state/fetched.js'
import { mayChange } from '../state/session.js'
import type { Key, List, ScopeLimits } from '../types.js'
import { Card, Copy, Empty, Failure, OnlyLooking, State } from '../ui/parts.js'
import { LimitsPatch } from './limits-patch.js'
import { type Bound, BoundBar, boundsOf } from './near-bound.js'
import { UseOverTime } from './use-over-time.js'

/** Keys of one page of the list. */
const PAGE_KEYS = 200

export function Keys() {
  const name = parameter('name')
  const [group, model, after] = [parameter('group'), parameter('model'), parameter('after')]
  const page = `/admin/keys?limit=${PAGE_KEYS}${after === undefined ? '' : `&after=${encodeURIComponent(after)}`}`
  const keys = useFetched<List<Key>>(name === undefined ? page : undefined, 10_000)
  const key = useFetched<Key>(name === undefined ? undefined : `/admin/keys/${encodeURIComponent(name)}`, 10_000)
  const nearest = useFetched<List<ScopeLimits>>('/admin/limits?order=used&limit=10', 3000)
  // Of all keys of the file that have limits, the first ones: the others, and keys of the store, show theirs by name.
  const limits = useFetched<List<ScopeLimits>>(
    name === undefined ? '/admin/limits?scope=key&limit=1000' : limitsOf('key', name),
    name === undefined ? 10_000 : 3000,
  )
  // What was read for another address stays until the answer for this one is there.
  const one = key.data.value?.name === name ? key.data.value : undefined
  const shown = name === undefined ? (keys.data.value?.data ?? []) : one === undefined ? [] : [one]
  const isRead = name === undefined ? keys.data.value !== undefined : key.isMissing.value || one !== undefined
  const bounds = boundsOf(limits.data.value?.data ?? [])
  const near = boundsOf(nearest.data.value?.data ?? [])
  const [next, again] = [
    name === undefined ? keys.data.value?.next : undefined,
    name === undefined ? keys.again : key.again,
  ]
  return (
    <>
      <Failure error={keys.error.value ?? key.error.value ?? limits.error.value ?? nearest.error.value} again={again} />
      <div class="grid">
        {name === undefined ? null : <UseOverTime scope="key" name={name} />}
        {group === undefined ? null : <UseOverTime scope="group" name={group} />}
        {model === undefined ? null : <UseOverTime scope="model" name={model} />}
        {one === undefined ? null : (
          <Patch key={one.name} scope="key" name={one.name} isStored={one.source === 'store'} />
        )}
        {name !== undefined || group === undefined ? null : (
          <Patch key={group} scope="group" name={group} isStored={false} />
        )}
        <Card title="Near their bound" class="w5">
          {near.length === 0 ? (
            <Empty>
              No key, group, model or upstream has a limit. Give a new key a budget beside this, or write{' '}
              <code>limits: {'{ requests: 60/min }'}</code> in <a href="/plan?view=file">the file</a>.
            </Empty>
          ) : (
            near.slice(0, 10).map(bound => <BoundBar key={idOf(bound)} bound={bound} />)
          )}
        </Card>
        <Card title="New key" class="w7">
          <NewKey onMade={again} />
        </Card>
        <Card
          title={name === undefined ? 'Keys' : `Key ${name}`}
          class="w12"
          aside={name === undefined ? undefined : <a href="/keys">All keys</a>}
        >
          {shown.length === 0 && isRead ? (
            <Empty>
              {name === undefined ? (
                'There are no keys: create one above, and give its secret to an application.'
              ) : (
                <>
                  There is no key of this name. <a href="/keys">All keys</a>
                </>
              )}
            </Empty>
          ) : (
            <table>
              <thead>
                <tr>
                  <th>Name</th>
                  <th>State</th>
                  <th class="hide">From</th>
                  <th class="hide">Models</th>
                  <th>Limits</th>
                  <th class="n">More</th>
                </tr>
              </thead>
              <tbody>
                {shown.map(key => (
                  <KeyRow
                    key={key.name}
                    known={key}
                    bounds={bounds}
                    isMore={limits.data.value?.next !== undefined}
                    onChange={again}
                  />
                ))}
              </tbody>
            </table>
          )}
          {after === undefined && next === undefined ? null : (
            <p class="group">
              {after === undefined ? null : <a href="/keys">The first keys</a>}
              {next === undefined ? null : <a href={`/keys?after=${encodeURIComponent(next)}`}>More</a>}
            </p>
          )}
        </Card>
      </div>
    </>
  )
}

function limitsOf(scope: 'key' | 'group', name: string): string {
  return `/admin/limits?scope=${scope}&name=${encodeURIComponent(name)}`
}

interface PatchProps {
  readonly scope: 'key' | 'group'
  readonly name: string
  readonly isStored: boolean
}

/** Only once it is known which limits there are: a patch removes those that it does not name. */
function Patch({ scope, name, isStored }: PatchProps) {
  const all = useFetched<List<ScopeLimits>>(limitsOf(scope, name), 10_000).data.value?.data
  if (all === undefined) return null
  const limits = all.find(one => one.scope === scope && one.name === name)?.limits ?? []
  return <LimitsPatch section={scope === 'key' ? 'keys' : 'groups'} name={name} limits={limits} isStored={isStored} />
}

function idOf({ scope, name, unit, window }: Bound): string {
  return `${scope}:${name}:${unit}:${window}`
}

interface RowProps {
  readonly known: Key
  readonly bounds: readonly Bound[]
  /** Whether there are bounds that were not read. */
  readonly isMore: boolean
  readonly onChange: () => void
}

function KeyRow({ known, bounds, isMore, onChange }: RowProps) {
  const { name, source, models = [], disabled, expires, warning, group } = known
  const own = bounds.filter(bound => bound.scope === 'key' && bound.name === name)
  const isOver = expires !== undefined && Date.parse(expires) <= Date.now()
  return (
    <tr>
      <td>
        <a href={`/keys?name=${encodeURIComponent(name)}`}>
          <strong>{name}</strong>
        </a>
        {group === undefined ? null : <div class="mut">{group}</div>}
      </td>
      <td>
        {warning !== undefined ? (
          <State level="warn">{warning}</State>
        ) : disabled === true ? (
          <State level="idle">Disabled</State>
        ) : isOver ? (
          <State level="bad">Expired</State>
        ) : (
          <State level="ok">{expires === undefined ? 'Works' : `Until ${day(expires)}`}</State>
        )}
      </td>
      <td class="hide">{source}</td>
      <td class="hide">{models.length === 0 ? NONE : models.slice(0, 4).join(', ')}</td>
      <td>
        {own.length > 0 ? null : (isMore || source === 'store') && parameter('name') !== name ? (
          <a href={`/keys?name=${encodeURIComponent(name)}`}>Show</a>
        ) : (
          NONE
        )}
        {own.map(bound => (
          <BoundBar key={idOf(bound)} bound={bound} isNamed={false} />
        ))}
      </td>
      <td class="n">
        <a class="to" href={`/requests?key=${encodeURIComponent(name)}`}>
          Requests
        </a>
        {source === 'store' ? <Revoke name={name} onDone={onChange} /> : null}
      </td>
    </tr>
  )
}

function Revoke({ name, onDone }: { readonly name: string; readonly onDone: () => void }) {
  const typed = useSignal<string | undefined>(undefined)
  const error = useSignal<string | undefined>(undefined)
  if (typed.value === undefined) {
    return (
      <div>
        <button type="button" class="link" disabled={!mayChange.value} onClick={() => (typed.value = '')}>
          Revoke
        </button>
      </div>
    )
  }
  const revoke = async (): Promise<void> => {
    try {
      await call(`/admin/keys/${encodeURIComponent(name)}`, { method: 'DELETE' })
      onDone()
    } catch (cause) {
      error.value = messageOf(cause)
    }
  }
  return (
    <form
      class="fields"
      onSubmit={event => {
        event.preventDefault()
        void revoke()
      }}
    >
      <label>
        This cannot be undone. Its name, to revoke it:
        <input type="text" value={typed.value} onInput={event => (typed.value = event.currentTarget.value)} />
      </label>
      <button type="submit" class="btn danger" disabled={typed.value !== name}>
        Revoke
      </button>
      {error.value === undefined ? null : (
        <span class="bad" role="alert">
          {error.value}
        </span>
      )}
    </form>
  )
}

function NewKey({ onMade }: { readonly onMade: () => void }) {
  const name = useSignal('')
  const models = useSignal('*')
  const budget = useSignal('')
  const secret = useSignal<string | undefined>(undefined)
  const error = useSignal<string | undefined>(undefined)
  const make = async (): Promise<void> => {
    error.value = undefined
    try {
      const body = {
        name: name.value,
        models: models.value.split(',').map(one => one.trim()),
        ...(budget.value === '' ? {} : { limits: { budget: budget.value } }),
      }
      const made = await call<{ readonly secret: string }>('/admin/keys', { method: 'POST', body })
      secret.value = made.secret
      name.value = ''
      onMade()
    } catch (cause) {
      error.value = messageOf(cause)
    }
  }
  if (secret.value !== undefined) {
    return (
      <>
        <p>
          This is the only time that the secret is shown. <Copy text={secret.value} label="Copy secret" />
        </p>
        <pre>{secret.value}</pre>
        <button type="button" class="btn" onClick={() => (secret.value = undefined)}>
          I have it
        </button>
      </>
    )
  }
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        void make()
      }}
    >
      <div class="fields">
        <label>
          Name
          <input
            type="text"
            required
            autofocus={parameter('new') !== undefined}
            value={name.value}
            onInput={event => (name.value = event.currentTarget.value)}
          />
        </label>
        <label>
          Models, with commas between
          <input
            type="text"
            required
            value={models.value}
            onInput={event => (models.value = event.currentTarget.value)}
          />
        </label>
        <label>
          Budget
          <input
            type="text"
            placeholder="5 USD/day"
            value={budget.value}
            onInput={event => (budget.value = event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="btn primary" disabled={!mayChange.value}>
          Create
        </button>
      </div>
      {error.value === undefined ? null : (
        <p class="bad" role="alert">
          {error.value}
        </p>
      )}
      <OnlyLooking />
      <p class="mut">
        The key goes to the store, works within a second, and is gone with a revoke. Keys of the file are changed in the
        file.
      </p>
    </form>
  )
}
