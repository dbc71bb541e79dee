import { Fields } from '../../families/fields.js'
import { unsupportedValue, wrongValue } from '../../families/refusals.js'
import { describedTool, readChoice, toolList } from '../../families/tools.js'
import type { JsonObject } from '../../json.js'
import { isObject } from '../../json.js'
import { EPOCH_SECONDS, type Seed } from '../../seed.js'
import type { Tool, ToolChoice } from '../../text/conversation.js'
import { pitchOf } from '../speech/index.js'

/** Members that a client may set. */
const MEMBERS = [
  ...['type', 'model', 'output_modalities', 'instructions', 'tools', 'tool_choice', 'max_output_tokens', 'audio'],
  ...['truncation', 'tracing', 'prompt', 'include'],
]
const MODALITIES = ['text', 'audio'] as const
/** The samples that the simulator makes; the protocol's other formats need a codec. */
const FORMAT = { type: 'audio/pcm', rate: 24_000 } as const
const VAD = {
  type: 'server_vad',
  threshold: 0.5,
  prefix_padding_ms: 300,
  silence_duration_ms: 500,
  idle_timeout_ms: null,
  create_response: true,
  interrupt_response: true,
} as const
const HOUR_SECONDS = 3600

/** The session object as a client sees it. */
export function newSession(model: string, seed: Seed): JsonObject {
  return {
    type: 'realtime',
    object: 'realtime.session',
    id: `sess_${seed.fork('session').letters(21)}`,
    model,
    output_modalities: ['audio'],
    instructions: 'You are a simulator. Say what you were told.',
    tools: [],
    tool_choice: 'auto',
    max_output_tokens: 'inf',
    tracing: null,
    truncation: 'auto',
    prompt: null,
    expires_at: EPOCH_SECONDS + HOUR_SECONDS,
    audio: {
      input: { format: FORMAT, transcription: null, noise_reduction: null, turn_detection: VAD },
      output: { format: FORMAT, voice: 'alloy', speed: 1 },
    },
    include: null,
  }
}

/** The session with what a `session.update` says laid over it. Throws {@link SimulatorError} where it may not. */
export function updated(session: JsonObject, update: Fields): JsonObject {
  update.only(MEMBERS)
  update.needOneOf('type', ['realtime'])
  const model = update.string('model')
  if (model !== undefined && model !== session.model) {
    throw wrongValue(update.param('model'), 'The model of a session cannot be changed.')
  }
  const next = merged(session, update.object)
  settingsOf(next)
  return next
}

/** What the settings come to. */
export interface Settings {
  readonly audio: boolean
  readonly instructions: string
  readonly tools: readonly Tool[]
  readonly choice: ToolChoice
  readonly limit: number | undefined
  readonly pitch: number
  readonly speed: number
  readonly voice: string
}

/** Reads a session, or one that a `response.create` has laid its own settings over. Throws {@link SimulatorError}. */
export function settingsOf(session: JsonObject): Settings {
  const fields = new Fields(session, 'session')
  const modalities = fields.someOf('output_modalities', MODALITIES)
  const tools = (toolList(fields, 'tools') ?? []).map(tool => describedTool('function', tool))
  const output = fields.fields('audio')?.fields('output')
  const input = fields.fields('audio')?.fields('input')
  for (const side of [input, output]) checkFormat(side?.fields('format'))
  const voice = voiceOf(output)
  const limit = fields.raw('max_output_tokens')
  return {
    audio: modalities.includes('audio'),
    instructions: fields.string('instructions') ?? '',
    tools,
    choice: readChoice(fields, 'tool_choice', tools),
    limit:
      limit === undefined || limit === 'inf' ? undefined : fields.integer('max_output_tokens', { min: 1, max: 4096 }),
    pitch: pitchOf(voice, 'session.audio.output.voice'),
    speed: output?.number('speed', { min: 0.25, max: 1.5 }) ?? 1,
    voice,
  }
}

function voiceOf(output: Fields | undefined): string {
  return output?.string('voice') ?? 'alloy'
}

function checkFormat(format: Fields | undefined): void {
  const type = format?.string('type')
  if (format === undefined || type === undefined || type === FORMAT.type) return
  throw unsupportedValue(format.param('type'), type, "The simulator has no codecs: it takes and makes 'audio/pcm'.")
}

/** Objects are merged; other values replace the old ones. */
function merged(session: JsonObject, update: JsonObject): JsonObject {
  const next: Record<string, JsonObject[string]> = { ...session }
  for (const [name, value] of Object.entries(update)) {
    const old = Object.hasOwn(session, name) ? session[name] : undefined
    next[name] = isObject(old) && isObject(value) ? merged(old, value) : value
  }
  return next
}
