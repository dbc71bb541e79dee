import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { call, messageOf } from '../api.js'
import { milliseconds, text } from '../format.js'
import { Copy, Pre } from '../ui/parts.js'
import type { Conversation, Piece } from './conversation.js'
import type { ExplainAnswer } from './explain.js'
import { shortened } from './play-answer.js'
import type { Documented, Protocol } from './protocols.js'
import { type Answer, attempt, eventsOf, payloadsOf } from './run.js'

const WAIT_MS = 300
const MAX_SHOWN_CHARS = 200_000
const NO_PIECE: Required<Piece> = { text: '', thought: '', call: '', sound: '' }

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

/** One conversation by one protocol for one model: where it would go, and what came of it. */
export function Try({ title, protocol, caller, base, conversation, run, stop }: TryProps) {
  const got = useSignal(NO_PIECE)
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
    got.value = NO_PIECE
    raw.value = ''
    error.value = undefined
    answer.value = undefined
    times.value = [undefined, undefined]
    const take = (data: string): void => {
      if (raw.value.length < MAX_SHOWN_CHARS) raw.value += `${data}\n`
      if (data === '[DONE]') return
      const piece = protocol.read(JSON.parse(data) as Documented)
      const isFirst = times.value[0] === undefined && Object.values(piece).some(Boolean)
      if (isFirst) times.value = [performance.now() - began, undefined]
      const { text: words, thought, call: made, sound } = got.value
      got.value = {
        text: words + (piece.text ?? ''),
        thought: thought + (piece.thought ?? ''),
        call: made + (piece.call ?? ''),
        sound: sound + (piece.sound ?? ''),
      }
    }
    const act = async (): Promise<void> => {
      try {
        const made = await attempt({ key: caller, path, json: body, signal })
        answer.value = made.answer
        if (!made.response.ok) raw.value = await made.response.text()
        else if (made.answer.type.includes('amazon.eventstream'))
          for await (const data of payloadsOf(made.response)) take(data)
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
  const unsaid = protocol.unsaid(conversation)
  return (
    <section class="card try" aria-label={title}>
      <div class="ch">
        <h2>{title}</h2>
        <span class="mut">{protocol.name === title ? '' : protocol.name}</span>
      </div>
      <Preview path={path} body={body} caller={caller} />
      {unsaid.length === 0 ? null : <p class="warn">This protocol has no {unsaid.join(' and no ')}.</p>}
      <Got got={got.value} name={protocol.name} />
      {error.value === undefined ? null : <p class="bad">{error.value}</p>}
      {known !== undefined && known.status >= 400 ? (
        <>
          <p class="bad">Refused with {known.status}</p>
          <Pre>{raw.value}</Pre>
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
        <Pre>
          POST {path}
          {'\n'}
          {JSON.stringify(body, shortened, 2)}
        </Pre>
      </details>
      <details>
        <summary>Got</summary>
        <Pre>{raw.value === '' ? 'Nothing yet.' : raw.value}</Pre>
      </details>
      <Code programs={protocol.code(conversation, base)} />
    </section>
  )
}

function Got({
  got: { text: words, thought, call: made, sound },
  name,
}: {
  readonly got: Required<Piece>
  readonly name: string
}) {
  return (
    <>
      {thought === '' ? null : (
        <details class="thought">
          <summary>Reasoning, {thought.length} characters</summary>
          <p>{thought}</p>
        </details>
      )}
      <div class="answer" aria-live="polite" data-answer={name}>
        {words}
      </div>
      {made === '' ? null : (
        <p>
          Calls <code>{made}</code>
        </p>
      )}
      {sound === '' ? null : (
        // biome-ignore lint/a11y/useMediaCaption: its text is above it
        <audio controls src={`data:audio/wav;base64,${sound}`} />
      )}
    </>
  )
}

/** A try as programs would make it. */
export function Code({ programs }: { readonly programs: Readonly<Record<string, string>> }) {
  return (
    <details>
      <summary>Code</summary>
      {Object.entries(programs).map(([language, program]) => (
        <div key={language} data-code={language}>
          <div class="ch">
            <h3>{language}</h3>
            <Copy text={program} />
          </div>
          <Pre>{program}</Pre>
        </div>
      ))}
    </details>
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
  if (first === undefined) return <p class="mut way">…</p>
  const lost = [...(first.dropped ?? []), ...(first.translation?.lost ?? [])]
  return (
    <p class="mut way">
      → {first.upstream}, {first.translation === undefined ? 'unchanged' : `translated to ${first.translation.to}`}
      <br />
      <span class={lost.length === 0 ? '' : 'warn'}>Lost: {lost.length === 0 ? 'nothing' : lost.join(', ')}</span>
    </p>
  )
}
