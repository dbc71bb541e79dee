import { request as httpRequest } from 'node:http'
import type { KillStage } from './kill-stage.js'
import { CALLER_SECRET } from './lives.js'
import type { Says } from './marked-upstream.js'
import type { Mark } from './marks.js'

/** More than connections hold on their way: anyone who reads half of it has not got the rest. */
const BIG = 12 * 1024 * 1024

/** A task on its way to its mark. */
export interface Way {
  readonly name: string
  /** When it begins: those are first that have furthest to go. */
  readonly turn: 1 | 2 | 3 | 4
  /** Absent: it stops by itself once it has begun. */
  readonly mark?: Mark
  /** What the upstream says of it. */
  readonly says?: Says
  /**
   * How it ends where its client knows it: well, or by that error. `deleted`: no one knows it; `refused`: it never
   * was, or no one knows whether it was; `nothing`: it never was.
   */
  readonly ends: 'completed' | 'deleted' | 'refused' | 'nothing' | { readonly code: string }
  /** Goes to the mark; the id where the client knows one. */
  go(stage: KillStage, name: string, parents: Parents): Promise<string | undefined>
}

async function idOf(answer: Response | undefined): Promise<string | undefined> {
  if (answer?.status !== 200) return undefined
  const json = (await answer.json().catch(() => ({}))) as { id?: string; result?: string }
  return json.id ?? json.result
}

/** A name is in front of all else. */
function prompt(name: string): string {
  return `name:${name} A cat`
}

async function film({ ask, hook }: KillStage, name: string, more: object = {}): Promise<string | undefined> {
  const body = { prompt: prompt(name), model: 'film', webhook_url: hook, ...more }
  return idOf(await ask('POST', '/v1/videos', JSON.stringify(body), { 'idempotency-key': name }))
}

const filmOf =
  (model: string) =>
  (stage: KillStage, name: string): Promise<string | undefined> =>
    film(stage, name, { model })

function formOf(name: string, hook: string): FormData {
  const form = new FormData()
  for (const [key, value] of Object.entries({ prompt: prompt(name), model: 'film', webhook_url: hook })) {
    form.append(key, value)
  }
  form.append('input_reference', new Blob([Buffer.alloc(BIG, 7)], { type: 'image/png' }), 'cat.png')
  return form
}

async function form({ ask, hook }: KillStage, name: string): Promise<string | undefined> {
  return idOf(await ask('POST', '/v1/videos', formOf(name, hook)))
}

/** Sends half of a form, and leaves the connection to the process that should be killed. */
async function halfForm({ lives, hook }: KillStage, name: string): Promise<undefined> {
  const whole = new Response(formOf(name, hook))
  const bytes = Buffer.from(await whole.arrayBuffer())
  const headers = {
    authorization: `Bearer ${CALLER_SECRET}`,
    'content-type': whole.headers.get('content-type') ?? '',
    'content-length': bytes.length,
  }
  const request = httpRequest(`${lives.origin}/v1/videos`, { method: 'POST', headers })
  request.on('error', () => undefined)
  await new Promise<void>(taken => request.write(bytes.subarray(0, bytes.length / 2), () => taken()))
  return undefined
}

/** A film whose end its client knows, and what comes then. */
const ended =
  (then: (stage: KillStage, id: string) => Promise<unknown>) =>
  async (stage: KillStage, name: string): Promise<string | undefined> => {
    const id = await film(stage, name)
    await stage.told.find(told => told.name === name)
    void then(stage, id ?? '')
    return id
  }

const fetched = ended(async ({ ask }, id) => {
  const answer = await ask('GET', `/v1/videos/${id}/content`)
  await answer?.arrayBuffer().catch(() => undefined)
})
const deleted = ended(({ ask }, id) => ask('DELETE', `/v1/videos/${id}`))

async function cancelled(stage: KillStage, name: string): Promise<string | undefined> {
  const id = await film(stage, name)
  await stage.marks.seen.find(seen => seen === `${name} poll`)
  await stage.ask('POST', `/v1/videos/${id}/cancel`)
  return id
}

async function imagine({ ask, hook }: KillStage, name: string): Promise<string | undefined> {
  return idOf(await ask('POST', '/mj/submit/imagine', JSON.stringify({ prompt: prompt(name), notifyHook: hook })))
}

/** What others are made of. */
export interface Parents {
  readonly film: string
  readonly image: string
}

/** A film that has ended, and an image that its upstream has. */
export async function parentsOf(stage: KillStage, round: number): Promise<Parents> {
  const names = { film: `parent.${round}`, image: `parent-image.${round}` }
  const [film = '', image = ''] = await Promise.all([plain(stage, names.film), imagine(stage, names.image)])
  await stage.told.find(({ name }) => name === names.film)
  return { film, image }
}

async function remix({ ask, hook }: KillStage, name: string, { film }: Parents): Promise<string | undefined> {
  const body = JSON.stringify({ prompt: prompt(name), webhook_url: hook })
  return idOf(await ask('POST', `/v1/videos/${film}/remix`, body))
}

async function action({ ask, hook }: KillStage, name: string, { image }: Parents): Promise<string | undefined> {
  const body = { taskId: image, customId: `MJ::JOB::upsample::1::${prompt(name)}`, notifyHook: hook }
  return idOf(await ask('POST', '/mj/submit/action', JSON.stringify(body)))
}

/** A request that its client may repeat, by its own key. */
export const plain = filmOf('film')
const completed = { ends: 'completed', go: plain } as const
const image = { ends: 'completed', go: imagine } as const
const running: Says = step => (step === 'poll' ? { body: { status: 'running', progress: 10 } } : undefined)
const unwanted = { says: running, ends: { code: 'cancelled' }, go: cancelled } as const
const failing: Says = step =>
  step === 'poll' ? { body: { status: 'failed', error: { code: 'no_cats', message: 'No cats.' } } } : undefined
const slowly: Says = (step, count) =>
  step === 'poll' && count === 0 ? { status: 429, headers: { 'retry-after': '1' } } : undefined
const refusing: Says = step =>
  step === 'submit' ? { status: 400, body: { error: { message: 'No cats.' } } } : undefined
/** Its client knows the end, and for a while no one asks for it. */
const later: Says = step => (step === 'submit' ? { headers: { 'retry-after': '5' } } : undefined)
const deaf: Says = (step, count) => (step === 'told' && count === 0 ? { status: 500 } : undefined)

export const WAYS: readonly Way[] = [
  { name: 'content-asked', turn: 1, mark: { at: 'content', how: 'held' }, ends: 'completed', go: fetched },
  { name: 'content-half', turn: 1, mark: { at: 'content', how: 'half answered' }, ends: 'completed', go: fetched },
  { name: 'delete-asked', turn: 2, mark: { at: 'delete', how: 'held' }, ends: 'deleted', go: deleted },
  { name: 'delete-answered', turn: 2, mark: { at: 'delete', how: 'answered' }, ends: 'deleted', go: deleted },
  { name: 'cancel-asked', turn: 2, mark: { at: 'cancel', how: 'held' }, ...unwanted },
  { name: 'cancel-answered', turn: 2, mark: { at: 'cancel', how: 'answered' }, ...unwanted },
  { name: 'told', turn: 1, mark: { at: 'told', how: 'held' }, ...completed },
  { name: 'told-answered', turn: 1, mark: { at: 'told', how: 'answered' }, ...completed },
  { name: 'told-in-vain', turn: 1, mark: { at: 'told', how: 'answered' }, says: deaf, ...completed },
  {
    name: 'deadline',
    turn: 1,
    mark: { at: 'told', how: 'held' },
    says: running,
    ends: { code: 'deadline' },
    go: filmOf('brief'),
  },
  { name: 'poll-1-asked', turn: 3, mark: { at: 'poll', how: 'held' }, ...completed },
  { name: 'poll-1-half', turn: 3, mark: { at: 'poll', how: 'half answered' }, ...completed },
  { name: 'poll-1-answered', turn: 3, mark: { at: 'poll', how: 'answered' }, ...completed },
  { name: 'poll-2-asked', turn: 3, mark: { at: 'poll', nth: 2, how: 'held' }, ...completed },
  { name: 'poll-2-answered', turn: 3, mark: { at: 'poll', nth: 2, how: 'answered' }, ...completed },
  { name: 'poll-too-often', turn: 3, mark: { at: 'poll', how: 'answered' }, says: slowly, ...completed },
  { name: 'poll-completed', turn: 3, mark: { at: 'poll', nth: 3, how: 'answered' }, ...completed },
  {
    name: 'poll-failed',
    turn: 3,
    mark: { at: 'poll', how: 'answered' },
    says: failing,
    ends: { code: 'no_cats' },
    go: plain,
  },
  { name: 'taken-over', turn: 3, mark: { at: 'poll', how: 'held', twice: true }, ...completed },
  { name: 'proof-asked', turn: 3, mark: { at: 'proof', how: 'held' }, ...completed },
  { name: 'proof-shown', turn: 3, mark: { at: 'proof', how: 'answered' }, ...completed },
  { name: 'image-done', turn: 3, mark: { at: 'poll', nth: 2, how: 'answered' }, ...image },
  { name: 'remix-asked', turn: 4, mark: { at: 'submit', how: 'held' }, ends: 'completed', go: remix },
  { name: 'remix-taken', turn: 4, mark: { at: 'submit', how: 'answered' }, ends: 'completed', go: remix },
  { name: 'action-asked', turn: 4, mark: { at: 'submit', how: 'held' }, ends: 'completed', go: action },
  { name: 'action-taken', turn: 4, mark: { at: 'submit', how: 'answered' }, ends: 'completed', go: action },
  { name: 'form-half', turn: 4, ends: 'nothing', go: halfForm },
  { name: 'form-read', turn: 4, mark: { at: 'submit', how: 'half read' }, ends: 'completed', go: form },
  {
    name: 'submit-read',
    turn: 4,
    mark: { at: 'submit', how: 'half read' },
    ends: 'completed',
    go: (stage, name) => film(stage, name, { metadata: 'x'.repeat(BIG) }),
  },
  { name: 'submit-asked', turn: 4, mark: { at: 'submit', how: 'held' }, ...completed },
  { name: 'submit-second', turn: 4, mark: { at: 'submit', how: 'held' }, ends: 'completed', go: filmOf('either') },
  { name: 'submit-half', turn: 4, mark: { at: 'submit', how: 'half answered' }, ...completed },
  { name: 'submit-taken', turn: 4, mark: { at: 'submit', how: 'answered' }, ...completed },
  {
    name: 'submit-refused',
    turn: 4,
    mark: { at: 'submit', how: 'answered' },
    says: refusing,
    ends: 'refused',
    go: plain,
  },
  { name: 'imagine-asked', turn: 4, mark: { at: 'submit', how: 'held' }, ...image },
  { name: 'imagine-taken', turn: 4, mark: { at: 'submit', how: 'answered' }, ...image },
  { name: 'acknowledged', turn: 4, says: later, ...completed },
]
