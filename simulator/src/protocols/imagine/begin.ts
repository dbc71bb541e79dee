import type { JsonObject } from '../../json.js'
import { type Call, type Document, json } from '../../protocol.js'
import { nameOf } from '../../tasks/task.js'
import { originOf } from '../videos/begin.js'
import { type Action, isModal } from './action.js'
import { CODES, refused } from './known.js'

/** Prompts with one of these words are refused. */
const BANNED_WORDS = ['nude', 'gore', 'bloodbath', 'beheading'] as const

interface Wish {
  readonly action: Action
  readonly prompt: string
  /** What is asked of the simulator, beside what the header says. */
  readonly asked: string
  /** What the result is drawn from; the request itself, if nothing is said. */
  readonly seed?: string
  readonly facts?: JsonObject
  /** The same step from the same task is done only once. */
  readonly once?: string
}

/** A longer state is known only to the process that received it. */
const MAX_STATE_CHARS = 100

/** Begins a task and answers for it, or as the fault `code` wants it. Throws to refuse. */
export function submitted(call: Call, wish: Wish): Document {
  const { action, prompt, seed = call.seed.hex(16) } = wish
  const { code = CODES.submitted, ...rest } = { code: codeOf(call), ...banned(prompt) }
  if ('properties' in rest)
    return json({ code, description: 'May contain sensitive words', properties: rest.properties })
  if (code === CODES.notFound || code === CODES.invalid || code === CODES.failed || code === CODES.full) {
    throw refused(code)
  }
  const task = {
    ...({
      kind: 'imagine',
      model: 'sim-imagine',
      prompt,
      started: call.now,
      serial: call.tasks.serial(),
      seed,
    } as const),
    asked: [call.asked, wish.asked].filter(text => text !== '').join('&'),
    facts: { action, ...botOf(call), ...wish.facts },
  }
  const { state } = call.body
  const written = typeof state === 'string' && state !== '' ? { state } : {}
  const short = typeof state === 'string' && state.length <= MAX_STATE_CHARS ? written : {}
  const made = nameOf({ ...task, facts: { ...task.facts, ...short } }, 'digits')
  const name = wish.once === undefined ? made : call.tasks.once(wish.once, made)
  if (name !== made) return existing(call, name)
  call.tasks.keep(name, { ...task, facts: { ...task.facts, ...written } })
  if (code === CODES.exists) return existing(call, name)
  if (isModal(action)) return modal(name, prompt)
  if (code === CODES.queued) return queued(name)
  return json({
    code: CODES.submitted,
    description: 'Submit success',
    result: name,
    properties: { instanceId: INSTANCE },
  })
}

const INSTANCE = '1118138338562560102'

function queued(result: string): Document {
  const description = 'In the queue, there is 1 task before yours'
  return json({ code: CODES.queued, description, result, properties: { numberOfQueues: 1, instanceId: INSTANCE } })
}

function existing(call: Call, result: string): Document {
  const properties = { status: 'SUCCESS', imageUrl: `${originOf(call)}/mj/image/${result}` }
  return json({ code: CODES.exists, description: 'Task already exists', result, properties })
}

function modal(result: string, finalPrompt: string): Document {
  return json({
    code: CODES.exists,
    description: 'Waiting for window confirm',
    result,
    properties: { finalPrompt, remix: true },
  })
}

function codeOf({ faults: { code } }: Call): number | undefined {
  return code === undefined ? undefined : Number(code)
}

/** Matches whole words in any case. */
function banned(prompt: string): { code: number; properties: JsonObject } | undefined {
  const words = new Set(prompt.toLowerCase().split(/[^\p{L}\p{N}]+/u))
  const bannedWord = BANNED_WORDS.find(word => words.has(word))
  return bannedWord === undefined ? undefined : { code: CODES.banned, properties: { promptEn: prompt, bannedWord } }
}

const DEFAULT_BOT = 'MID_JOURNEY'
const MAX_BOT_CHARS = 64

/** A bot is what other protocols call a model: any name is one. */
function botOf({ body: { botType } }: Call): JsonObject {
  if (botType === undefined || botType === null || botType === '' || botType === DEFAULT_BOT) return {}
  if (typeof botType === 'string' && botType.length <= MAX_BOT_CHARS) return { bot: botType }
  throw refused(CODES.invalid, 'The bot type is wrong')
}
