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

export function Keys() {
  const keys = useFetched<List<Key>>('/admin/keys?limit=200', 10_000)
  const limits = useFetched<List<ScopeLimits>>('/admin/limits?limit=200', 3000)
  const name = parameter('name')
  const [group, model] = [parameter('group'), parameter('model')]
  const all = keys.data.value?.data ?? []
  // Limits of keys of the store are not in the list: there may be very many of them.
  const isStored = all.some(key => key.name === name && key.source === 'store')
  const one = useFetched<List<ScopeLimits>>(
    isStored && name !== undefined ? `/admin/limits?scope=key&name=${encodeURIComponent(name)}` : undefined,
    3000,
  )
  const own = isStored ? (one.data.value?.data ?? []).filter(({ scope }) => scope === 'key') : []
  const scopes = [...(limits.data.value?.data ?? []), ...own]
  const bounds = boundsOf(scopes)
  const patched = name === undefined ? 'group' : 'key'
  const isKnown =
    keys.data.value !== undefined && limits.data.value !== undefined && (!isStored || one.data.value !== undefined)
  const shown = name === undefined ? all : all.filter(key => key.name === name)
  return (
    <>
      <Failure error={keys.error.value ?? limits.error.value ?? one.error.value} again={keys.again} />
      <div class="grid">
        {name === undefined ? null : <UseOverTime scope="key" name={name} />}
        {group === undefined ? null : <UseOverTime scope="group" name={group} />}
        {model === undefined ? null : <UseOverTime scope="model" name={model} />}
        {(name === undefined && group === undefined) || !isKnown ? null : (
          <LimitsPatch
            key={name ?? group}
            section={name === undefined ? 'groups' : 'keys'}
            name={name ?? group ?? ''}
            limits={scopes.find(one => one.scope === patched && one.name === (name ?? group))?.limits ?? []}
            isStored={isStored}
          />
        )}
        <Card title="Near their bound" class="w5">
          {bounds.length === 0 ? (
            <Empty>
              No key, group, model or upstream has a limit. Give a new key a budget beside this, or write{' '}
              <code>limits: {'{ requests: 60/min }'}</code> in <a href="/plan?view=file">the file</a>.
            </Empty>
          ) : (
            bounds.slice(0, 10).map(bound => <BoundBar key={idOf(bound)} bound={bound} />)
          )}
        </Card>
        <Card title="New key" class="w7">
          <NewKey onMade={keys.again} />
        </Card>
        <Card
          title={name === undefined ? 'Keys' : `Key ${name}`}
          class="w12"
          aside={name === undefined ? undefined : <a href="/keys">All keys</a>}
        >
          {shown.length === 0 && keys.data.value !== undefined ? (
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
                  <KeyRow key={key.name} known={key} bounds={bounds} onChange={keys.again} />
                ))}
              </tbody>
            </table>
          )}
        </Card>
      </div>
    </>
  )
}

function idOf({ scope, name, unit, window }: Bound): string {
  return `${scope}:${name}:${unit}:${window}`
}

interface RowProps {
  readonly known: Key
  readonly bounds: readonly Bound[]
  readonly onChange: () => void
}

function KeyRow({ known, bounds, onChange }: RowProps) {
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
        {own.length > 0 ? null : source === 'store' && parameter('name') !== name ? (
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
