import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { call, messageOf } from '../api.js'
import { parameter } from '../router.js'
import type { PlanAnswer } from '../types.js'
import { Card, Failure, Pre } from '../ui/parts.js'

export interface ExplainAnswer {
  readonly error?: { readonly status: number; readonly message?: string; readonly code?: string }
  readonly exchanges?: readonly {
    readonly upstream: string
    readonly model: string
    readonly method: string
    readonly url: string
    readonly share?: number
    readonly when?: string
    readonly headers: readonly string[]
    readonly body?: string
    readonly dropped?: readonly string[]
    readonly refused?: string
    readonly translation?: { readonly from: string; readonly to: string; readonly lost?: readonly string[] }
  }[]
}

const PATHS = [
  '/v1/chat/completions',
  '/v1/responses',
  '/v1/messages',
  '/v1beta/models/MODEL:generateContent',
  '/v1/embeddings',
]
const WAIT_MS = 300

const exampleOf = (model: string): string =>
  `{\n  "model": ${JSON.stringify(model)},\n  "messages": [{ "role": "user", "content": "Hello" }]\n}`

/** What would become of a request, as one types it. Nothing is sent. */
export function Explain({ plan }: { readonly plan: PlanAnswer | undefined }) {
  const path = useSignal(PATHS[0] ?? '')
  const key = useSignal('')
  const typed = useSignal<string | undefined>(undefined)
  const serves = new Set(plan?.upstreams.filter(({ off }) => off === undefined).map(({ name }) => name))
  const first = plan?.models.find(({ groups }) => groups.flat().some(({ upstream }) => serves.has(upstream)))
  const body = typed.value ?? exampleOf(parameter('model') ?? first?.name ?? 'a-model')
  const facts = useSignal<ExplainAnswer | undefined>(undefined)
  const error = useSignal<string | undefined>(undefined)
  useEffect(() => {
    const timer = setTimeout(async () => {
      try {
        const asked = {
          method: 'POST',
          path: path.value,
          body,
          ...(key.value === '' ? {} : { key: key.value }),
        }
        facts.value = await call<ExplainAnswer>('/admin/explain', { method: 'POST', body: asked })
        error.value = undefined
      } catch (cause) {
        error.value = messageOf(cause)
      }
    }, WAIT_MS)
    return () => clearTimeout(timer)
  }, [path.value, key.value, body])
  return (
    <div class="grid">
      <Card title="Request" class="w5">
        <div class="fields">
          <label>
            Path
            <input
              type="text"
              list="paths"
              value={path.value}
              onInput={event => (path.value = event.currentTarget.value)}
            />
          </label>
          <datalist id="paths">
            {PATHS.map(one => (
              <option key={one} value={one} />
            ))}
          </datalist>
          <label>
            Key
            <select value={key.value} onChange={event => (key.value = event.currentTarget.value)}>
              <option value="">one that may do all</option>
              {(plan?.keys ?? []).map(({ name }) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        </div>
        <label>
          <span class="mut">Body</span>
          <textarea
            class="mono"
            rows={16}
            spellcheck={false}
            value={body}
            onInput={event => (typed.value = event.currentTarget.value)}
          />
        </label>
      </Card>
      <Card title="What becomes of it" class="w7">
        <Failure error={error.value} />
        {facts.value === undefined ? null : <Ways facts={facts.value} />}
      </Card>
    </div>
  )
}

function Ways({ facts: { error, exchanges = [] } }: { readonly facts: ExplainAnswer }) {
  return (
    <>
      {error === undefined ? null : (
        <p class="bad">
          Refused with {error.status}: {error.message ?? error.code}
        </p>
      )}
      {exchanges.map(
        ({ upstream, model, method, url, headers, body, translation, dropped = [], refused, when }, at) => (
          <details key={`${upstream}${model}${url}`} open={at === 0}>
            <summary>
              <strong>
                {at + 1} {upstream}
              </strong>{' '}
              as {model} {translation === undefined ? 'unchanged' : `translated to ${translation.to}`}
              {when === undefined ? '' : `, when ${when}`}
            </summary>
            {refused === undefined ? null : <p class="bad">{refused}</p>}
            <p>
              <code>
                {method} {url}
              </code>
            </p>
            {headers.length === 0 ? null : <Pre>{headers.join('\n')}</Pre>}
            {body === undefined ? null : <Pre>{body}</Pre>}
            <p class="mut">
              {[...dropped, ...(translation?.lost ?? [])].length === 0
                ? 'Nothing is lost.'
                : `Lost: ${[...dropped, ...(translation?.lost ?? [])].join(', ')}`}
            </p>
          </details>
        ),
      )}
    </>
  )
}
