import type { HearField, SpeakField } from '../../core/audio.js'
import type { Carry, FieldMapping } from '../../core/fields.js'

/** Members of CreateSpeechRequest, and the second name of one of them. */
export const SPEECH_FIELDS: Readonly<Record<string, FieldMapping<SpeakField>>> = {
  model: { here: 'chooses the model' },
  input: 'text',
  voice: ['voice', 'ownVoice'],
  'voice.id': 'ownVoice',
  instructions: 'instructions',
  response_format: 'format',
  format: 'format',
  speed: 'speed',
  stream_format: { here: 'the audio arrives as events' },
}

/** Fields of CreateTranslationRequest. */
export const TRANSLATIONS_FIELDS: Readonly<Record<string, FieldMapping<HearField>>> = {
  model: { here: 'chooses the model' },
  file: 'recording',
  prompt: 'prompt',
  response_format: 'format',
  temperature: 'temperature',
}

/** Fields of CreateTranscriptionRequest. */
export const TRANSCRIPTIONS_FIELDS: Readonly<Record<string, FieldMapping<HearField>>> = {
  ...TRANSLATIONS_FIELDS,
  language: 'language',
  timestamp_granularities: 'times',
  include: 'logprobs',
  chunking_strategy: 'chunks',
  known_speaker_names: 'speakers',
  known_speaker_references: 'speakers',
  stream: { here: 'the whole transcript arrives as events' },
}

export const SPEAK_CARRIES: Readonly<Record<SpeakField, Carry>> = {
  text: 'carried',
  voice: { approximated: 'as the voice with that name' },
  ownVoice: { refused: 'its voices have names' },
  format: { approximated: 'wav (the default) and pcm are created from its samples; others are refused' },
  instructions: { approximated: 'before the text' },
  speed: { dropped: 'such a model chooses its pace' },
}

const WHOLE: Carry = { dropped: 'such a model returns only words' }

export const HEAR_CARRIES: Readonly<Record<HearField, Carry>> = {
  recording: { approximated: 'up to 14 MiB, inline' },
  language: { approximated: 'in words' },
  prompt: { approximated: 'in words' },
  format: { approximated: 'json and text; others are refused' },
  temperature: 'carried',
  times: WHOLE,
  logprobs: WHOLE,
  chunks: { dropped: 'such a model hears a recording as a whole' },
  speakers: WHOLE,
}
