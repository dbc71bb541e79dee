import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { call, messageOf } from '../api.js'
import { milliseconds, text } from '../format.js'
import { parameter, setParameters } from '../router.js'
import type { PlanAnswer } from '../types.js'
import { ChooseKey, ChooseModel } from '../ui/choose.js'
import { Copy, Segments } from '../ui/parts.js'
import type { ExplainAnswer } from './explain.js'
import { type Conversation, type Documented, PROTOCOLS, type Protocol } from './protocols.js'
import { type Answer, attempt, eventsOf } from './run.js'

const VIEWS = ['one', 'protocols', 'models'] as const
const WAIT_MS = 300
const MAX_TOKENS = 512
const MAX_SHOWN_CHARS = 200_000

interface Column {
  readonly title: string
  readonly protocol: Protocol
  readonly model: string
}

/** One conversation: by one protocol, by all four beside each other, or for several models. */
export function Chat({ plan }: { readonly plan: PlanAnswer }) {
  const key = useSignal(plan.keys.find(({ off }) => off === undefined)?.name ?? '')
  const view = VIEWS.find(one => one === parameter('view')) ?? 'one'
  const model = parameter('model') ?? plan.models[0]?.name ?? ''
  const others = useSignal(plan.models[1]?.name ?? '')
  const system = useSignal('')
  const said = useSignal('Say hello in five words.')
  const isStream = useSignal(true)
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
            }}
            run={run.value}
            stop={() => stop.current.signal}
          />
        ))}
      </div>
    </>
  )
}

interface TryProps {
  readonly title: string
  readonly protocol: Protocol
  readonly caller: string
  /** Where clients call. */
  readonly base: string
  readonly conversation: Conversation
  /** It runs whenever this changes. */
  readonly run: number
  readonly stop: () => AbortSignal
}

function Try({ title, protocol, caller, base, conversation, run, stop }: TryProps) {
  const got = useSignal('')
  const raw = useSignal('')
  const answer = useSignal<Answer | undefined>(undefined)
  const times = useSignal<readonly [first: number | undefined, total: number | undefined]>([undefined, undefined])
  const error = useSignal<string | undefined>(undefined)
  const path = protocol.path(conversation)
  const body = protocol.body(conversation)
  useEffect(() => {
    if (run === 0) return
    const began = performance.now()
    const signal = stop()
    got.value = ''
    raw.value = ''
    error.value = undefined
    answer.value = undefined
    times.value = [undefined, undefined]
    const take = (data: string): void => {
      if (raw.value.length < MAX_SHOWN_CHARS) raw.value += `${data}\n`
      if (data === '[DONE]') return
      const piece = protocol.text(JSON.parse(data) as Documented)
      if (piece !== '' && times.value[0] === undefined) times.value = [performance.now() - began, undefined]
      got.value += piece
    }
    const act = async (): Promise<void> => {
      try {
        const made = await attempt({ key: caller, path, json: body, signal })
        answer.value = made.answer
        if (!made.response.ok) raw.value = await made.response.text()
        else if (made.answer.type.includes('event-stream')) for await (const data of eventsOf(made.response)) take(data)
        else take(await made.response.text())
        times.value = [times.value[0], performance.now() - began]
      } catch (cause) {
        error.value = signal.aborted ? 'Stopped.' : messageOf(cause)
      }
    }
    void act()
  }, [run])
  const { value: known } = answer
  const code = protocol.code(conversation, base)
  return (
    <section class="card" aria-label={title}>
      <div class="ch">
        <h2>{title}</h2>
        <span class="mut">{protocol.name === title ? '' : protocol.name}</span>
      </div>
      <Preview path={path} body={body} caller={caller} />
      <div class="answer" aria-live="polite" data-answer={protocol.name}>
        {got.value}
      </div>
      {error.value === undefined ? null : <p class="bad">{error.value}</p>}
      {known !== undefined && known.status >= 400 ? (
        <>
          <p class="bad">Refused with {known.status}</p>
          <pre>{raw.value}</pre>
        </>
      ) : null}
      <p class="mut">
        {times.value[0] === undefined ? '' : `first ${text(milliseconds(times.value[0]))}`}
        {times.value[1] === undefined ? '' : `, all ${text(milliseconds(times.value[1]))}`}{' '}
        {known?.id === undefined ? null : <a href={`/requests/${known.id}`}>Its way</a>}
      </p>
      {known?.dropped === undefined ? null : <p class="warn">Left out: {known.dropped}</p>}
      <details>
        <summary>Sent</summary>
        <pre>
          POST {path}
          {'\n'}
          {JSON.stringify(body, undefined, 2)}
        </pre>
      </details>
      <details>
        <summary>Got</summary>
        <pre>{raw.value}</pre>
      </details>
      <details>
        <summary>Code</summary>
        {Object.entries(code).map(([language, program]) => (
          <div key={language}>
            <div class="ch">
              <h3>{language}</h3>
              <Copy text={program} />
            </div>
            <pre>{program}</pre>
          </div>
        ))}
      </details>
    </section>
  )
}

/** Where it would go, and what would be lost, before it is sent. */
function Preview({ path, body, caller }: { readonly path: string; readonly body: object; readonly caller: string }) {
  const facts = useSignal<ExplainAnswer | undefined>(undefined)
  const sent = JSON.stringify(body)
  useEffect(() => {
    const timer = setTimeout(async () => {
      const asked = { method: 'POST', path, body: sent, key: caller }
      facts.value = await call<ExplainAnswer>('/admin/explain', { method: 'POST', body: asked }).catch(() => undefined)
    }, WAIT_MS)
    return () => clearTimeout(timer)
  }, [path, sent, caller])
  const first = facts.value?.exchanges?.[0]
  if (facts.value?.error !== undefined) return <p class="warn">{facts.value.error.message ?? 'It would be refused.'}</p>
  if (first === undefined) return <p class="mut">…</p>
  const lost = [...(first.dropped ?? []), ...(first.translation?.lost ?? [])]
  return (
    <p class="mut">
      → {first.upstream} ({first.translation === undefined ? 'unchanged' : `translated to ${first.translation.to}`}).
      Lost: {lost.length === 0 ? 'nothing' : lost.join(', ')}.
    </p>
  )
}
