import { isObject, type JsonObject } from '../../core/json.js'
import type { Format, Left, ReasoningWish, TextRequest } from '../../core/text.js'
import { isEffort } from '../effort.js'
import { child, whole } from '../native-casing.js'
import { given, invalid, leaveOthers, type Reader } from '../read.js'

import { jsonSchema } from './schema-dialect.js'

const KNOWN = new Set([
  ...['temperature', 'topP', 'topK', 'candidateCount', 'maxOutputTokens', 'stopSequences', 'seed', 'presencePenalty'],
  ...['frequencyPenalty', 'responseMimeType', 'responseSchema', 'responseJsonSchema', '_responseJsonSchema'],
  ...['responseFormat', 'responseModalities', 'responseLogprobs', 'logprobs', 'thinkingConfig', 'speechConfig'],
  'mediaResolution',
])
export const CONFIG_WHY = {
  imageConfig: 'other text protocols have no image settings',
  enableAffectiveDialog: 'other protocols have no equivalent',
  enableEnhancedCivicAnswers: 'other protocols have no equivalent',
  translationConfig: 'other text protocols do not translate speech',
  audioTranscriptionConfig: 'other text protocols do not transcribe',
}

type Config = Partial<TextRequest>

/** `generationConfig` in canonical fields. */
export function configIn(config: Reader | undefined, left: Left[]): Config {
  if (config === undefined) return {}
  leaveOthers(config, KNOWN, left, CONFIG_WHY)
  const stop = config.strings('stopSequences')
  return given({
    temperature: config.number('temperature'),
    topP: config.number('topP'),
    topK: config.number('topK'),
    candidates: whole(config, 'candidateCount'),
    maxTokens: whole(config, 'maxOutputTokens'),
    stop: stop !== undefined && stop.length > 0 ? stop : undefined,
    seed: whole(config, 'seed'),
    presencePenalty: config.number('presencePenalty'),
    frequencyPenalty: config.number('frequencyPenalty'),
    logprobs: config.boolean('responseLogprobs') === true ? (whole(config, 'logprobs') ?? 0) : undefined,
    format: formatIn(config, left),
    reasoning: reasoningIn(child(config, 'thinkingConfig'), left),
    modalities: modalitiesIn(config),
    audio: voiceIn(child(config, 'speechConfig'), left),
  })
}

function formatIn(config: Reader, left: Left[]): Format | undefined {
  const mime = config.string('responseMimeType')
  const json = config.object('responseJsonSchema') ?? config.object('_responseJsonSchema')
  const native = config.object('responseSchema')
  const written = json ?? native
  if (mime === 'text/x.enum') {
    left.push({
      field: config.path('responseMimeType'),
      why: 'other protocols answer with a word from a list only in JSON',
    })
    return undefined
  }
  if (written !== undefined) return schema(jsonSchema(written.value, written.at))
  if (mime === 'application/json') return { type: 'json' }
  if (mime !== undefined && mime !== '' && mime !== 'text/plain') {
    left.push({ field: config.path('responseMimeType'), why: 'other protocols answer with text or JSON' })
  }
  return responseFormatIn(child(config, 'responseFormat'), left)
}

/** `responseFormat.text`, the newer form of the same. */
function responseFormatIn(format: Reader | undefined, left: Left[]): Format | undefined {
  if (format === undefined) return undefined
  leaveOthers(format, new Set(['text']), left, {
    audio: 'other text protocols have no speech format',
    image: 'other text protocols have no image settings',
  })
  const text = child(format, 'text')
  if (text === undefined || text.string('mimeType') === 'TEXT_PLAIN') return undefined
  const written = text.raw('schema')
  if (isObject(written)) return schema(jsonSchema(written, text.path('schema')))
  return text.string('mimeType') === 'APPLICATION_JSON' ? { type: 'json' } : undefined
}

/** The title is where others have the name. */
function schema(schema: JsonObject): Format {
  return { type: 'schema', schema }
}

function reasoningIn(thinking: Reader | undefined, left: Left[]): ReasoningWish | undefined {
  if (thinking === undefined) return undefined
  leaveOthers(thinking, new Set(['includeThoughts', 'thinkingBudget', 'thinkingLevel']), left)
  const level = thinking.string('thinkingLevel')?.toLowerCase()
  const isGiven = level !== undefined && level !== 'thinking_level_unspecified'
  if (isGiven && !isEffort(level))
    throw invalid(thinking.path('thinkingLevel'), 'expected MINIMAL, LOW, MEDIUM or HIGH')
  const shown = thinking.boolean('includeThoughts')
  const wish: ReasoningWish = given({
    effort: isGiven && isEffort(level) ? level : undefined,
    budget: whole(thinking, 'thinkingBudget'),
    show: shown === undefined ? undefined : shown ? ('auto' as const) : ('none' as const),
  })
  return Object.keys(wish).length > 0 ? wish : undefined
}

const MODALITIES = { TEXT: 'text', IMAGE: 'image', AUDIO: 'audio' } as const

/** Text alone is what every answer is, and counts as nothing asked for. */
function modalitiesIn(config: Reader): TextRequest['modalities'] {
  const modalities = (config.strings('responseModalities') ?? []).map((written, i) => {
    const name = written.toUpperCase()
    if (name === 'TEXT' || name === 'IMAGE' || name === 'AUDIO') return MODALITIES[name]
    if (name === 'MODALITY_UNSPECIFIED') return 'text'
    throw invalid(`${config.path('responseModalities')}[${i}]`, 'expected TEXT, IMAGE or AUDIO')
  })
  return modalities.some(modality => modality !== 'text') ? modalities : undefined
}

function voiceIn(speech: Reader | undefined, left: Left[]): TextRequest['audio'] {
  if (speech === undefined) return undefined
  leaveOthers(speech, new Set(['voiceConfig']), left, {
    multiSpeakerVoiceConfig: 'other protocols speak with one voice',
    languageCode: 'other protocols do not name the language of speech',
  })
  const voice = child(speech, 'voiceConfig')
  const name = voice === undefined ? undefined : child(voice, 'prebuiltVoiceConfig')?.string('voiceName')
  return name === undefined ? undefined : { voice: name }
}
