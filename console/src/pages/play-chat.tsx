import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { parameter, setParameters } from '../router.js'
import type { PlanAnswer } from '../types.js'
import { ChooseKey, ChooseModel } from '../ui/choose.js'
import { Segments } from '../ui/parts.js'
import { ExtraFields, extrasOf, useExtras } from './play-extras.js'
import { Try } from './play-try.js'
import { PROTOCOLS, type Protocol } from './protocols.js'

const VIEWS = ['one', 'protocols', 'models'] as const
const MAX_TOKENS = 512

interface Column {
  readonly title: string
  readonly protocol: Protocol
  readonly model: string
}

/** One conversation: by one protocol, by all five beside each other, or for several models. */
export function Chat({ plan }: { readonly plan: PlanAnswer }) {
  const key = useSignal(plan.keys.find(({ off }) => off === undefined)?.name ?? '')
  const view = VIEWS.find(one => one === parameter('view')) ?? 'one'
  const model = parameter('model') ?? plan.models[0]?.name ?? ''
  const others = useSignal(plan.models[1]?.name ?? '')
  const system = useSignal('')
  const said = useSignal('Say hello in five words.')
  const isStream = useSignal(true)
  const extras = useExtras()
  const run = useSignal(0)
  const stop = useRef<AbortController>(new AbortController())
  const chosen = PROTOCOLS.find(({ name }) => name === parameter('protocol')) ?? (PROTOCOLS[0] as Protocol)
  const columns: readonly Column[] =
    view === 'protocols'
      ? PROTOCOLS.map(protocol => ({ title: protocol.name, protocol, model }))
      : view === 'models'
        ? [model, ...others.value.split(',').map(one => one.trim())]
            .filter(Boolean)
            .map(one => ({ title: one, protocol: chosen, model: one }))
        : [{ title: chosen.name, protocol: chosen, model }]
  const start = (): void => {
    stop.current.abort()
    stop.current = new AbortController()
    run.value++
  }
  return (
    <>
      <form
        class="card"
        aria-label="Conversation"
        onSubmit={event => {
          event.preventDefault()
          start()
        }}
        onKeyDown={event => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) start()
        }}
      >
        <div class="fields">
          <ChooseKey plan={plan} value={key.value} onChange={next => (key.value = next)} />
          <ChooseModel plan={plan} value={model} onChange={next => setParameters({ model: next }, true)} />
          {view === 'models' ? (
            <label>
              And, with commas between
              <input type="text" value={others.value} onInput={event => (others.value = event.currentTarget.value)} />
            </label>
          ) : null}
          {view === 'protocols' ? null : (
            <label>
              Protocol
              <select
                value={chosen.name}
                onChange={event => setParameters({ protocol: event.currentTarget.value }, true)}
              >
                {PROTOCOLS.map(({ name }) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
          )}
          <label class="check">
            <input
              type="checkbox"
              checked={isStream.value}
              onChange={event => (isStream.value = event.currentTarget.checked)}
            />
            stream
          </label>
          <Segments label="View" options={VIEWS} value={view} onChange={next => setParameters({ view: next })} />
        </div>
        <div class="turns">
          <label>
            <span class="mut">System</span>
            <textarea rows={2} value={system.value} onInput={event => (system.value = event.currentTarget.value)} />
          </label>
          <label>
            <span class="mut">User</span>
            <textarea rows={2} value={said.value} onInput={event => (said.value = event.currentTarget.value)} />
          </label>
        </div>
        <ExtraFields extras={extras} />
        <div class="bar-of-controls end">
          <button type="submit" class="btn primary">
            {columns.length === 1 ? 'Run' : `Run ${columns.length} requests`} <kbd>Ctrl Enter</kbd>
          </button>
          <button type="button" class="btn" onClick={() => stop.current.abort()}>
            Stop
          </button>
          <span class="mut">Counted under the limits of {key.value}.</span>
        </div>
      </form>
      <div class="columns">
        {columns.map(column => (
          <Try
            key={`${column.title} ${column.protocol.name}`}
            title={column.title}
            protocol={column.protocol}
            caller={key.value}
            base={plan.base}
            conversation={{
              model: column.model,
              system: system.value,
              text: said.value,
              isStream: isStream.value,
              maxTokens: MAX_TOKENS,
              ...extrasOf(extras),
            }}
            run={run.value}
            stop={() => stop.current.signal}
          />
        ))}
      </div>
    </>
  )
}
