import { looksLikeKey } from '../../config/secret-lines.js'
import { isObject, parseJson } from '../../core/json.js'
import type { Upstream } from '../../core/plan.js'
import type { CheapestCall } from '../../core/upstream-call.js'
import { askCheapest } from '../../kernel/cheapest-call.js'
import type { Generation } from '../../kernel/generation.js'
import { NoResponseError } from '../../kernel/http-call.js'
import { AdminError, type AdminRoute, COUNT, objectOf, TEXT } from '../route.js'

/** Time for a connection, and again for the answer, milliseconds. */
const TIMEOUT_MS = 15_000
/** Largest answer, bytes: some lists of models are long. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024
/** Secrets of one upstream that are tried. */
const MAX_SECRETS = 8
/** Upstreams that are asked at once, of all pages. */
const MAX_AT_ONCE = 4
const MAX_ERROR_CHARS = 400
const NOT_FOUND = 'no upstream has this name'

let underWay = 0

const RESULT = objectOf(
  {
    credential: { ...TEXT, description: 'Tells secrets apart; absent: the upstream has none.' },
    status: { ...COUNT, description: 'Absent: there was no answer.' },
    milliseconds: COUNT,
    bytes: COUNT,
    error: { ...TEXT, description: 'What was said in refusing, or why there is no answer, without secrets.' },
  },
  ['milliseconds'],
)

export const testUpstream: AdminRoute = {
  method: 'POST',
  path: '/admin/upstreams/{name}/test',
  summary:
    'Makes the cheapest request that is declared for an upstream, its probe or its list of models, once with each of its secrets. Nothing is counted or cut off because of it. 409: it is off, or none is declared.',
  status: 200,
  answer: objectOf({ call: TEXT, results: { type: 'array', items: RESULT } }, ['call', 'results']),
  async handle({ params: { name = '' } }, { kernel: { generation } }) {
    const upstream = generation.plan.upstreams.get(name)
    if (upstream === undefined) throw new AdminError(404, 'not_found', NOT_FOUND)
    const { off, cheapest, others } = upstream
    if (off !== undefined) throw new AdminError(409, 'conflict', `the upstream is off: ${off}`)
    if (cheapest === undefined)
      throw new AdminError(409, 'conflict', 'it has no list of models; declare health: { probe: { call: … } } for it')
    if (underWay >= MAX_AT_ONCE) throw new AdminError(429, 'too_many_requests', `at most ${MAX_AT_ONCE} at once`)
    underWay++
    generation.lease()
    try {
      const results: object[] = []
      for (const one of [upstream, ...others].slice(0, MAX_SECRETS)) results.push(await ask(generation, one, cheapest))
      return { call: cheapest.call.text, results }
    } finally {
      underWay--
      generation.release()
    }
  },
}

async function ask(generation: Generation, upstream: Upstream, usual: CheapestCall): Promise<object> {
  const { credential, cheapest = usual } = upstream
  const begun = performance.now()
  const done = (result: object): object => ({
    ...(credential === undefined ? {} : { credential }),
    milliseconds: Math.round(performance.now() - begun),
    ...result,
  })
  try {
    const options = { key: 'test call', timeoutMs: TIMEOUT_MS, maxBytes: MAX_ANSWER_BYTES }
    const { status, body } = await askCheapest(generation, upstream, cheapest, options)
    const { secrets } = generation.reach(upstream)
    const error = status < 400 ? {} : { error: errorText(body.toString('utf8'), secrets) }
    return done({ status, bytes: body.length, ...error })
  } catch (cause) {
    if (!(cause instanceof NoResponseError)) throw cause
    return done({ error: cause.message })
  }
}

/** What an upstream said, without its secrets and what looks like one. */
function errorText(text: string, secrets: readonly string[]): string {
  const value = parseJson(text)
  const error = isObject(value) ? (value.error ?? value) : undefined
  const message = isObject(error) ? error.message : error
  const said = typeof message === 'string' ? message : text
  const hidden = secrets.filter(one => one !== '').reduce((left, secret) => left.replaceAll(secret, '[secret]'), said)
  const safe = hidden.replace(/\S+/g, word => (looksLikeKey(word) ? '[secret]' : word))
  return safe.length > MAX_ERROR_CHARS ? `${safe.slice(0, MAX_ERROR_CHARS)}…` : safe
}
