import type { HearCodec, SpeakCodec } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import { decodeError } from '../compatible-errors.js'
import { generate } from '../generate/index.js'
import { speechByText, transcriptsByText } from './by-text.js'
import { HEAR_CARRIES, SPEAK_CARRIES, SPEECH_FIELDS, TRANSCRIPTIONS_FIELDS, TRANSLATIONS_FIELDS } from './fields.js'
import * as speaking from './speech.js'
import { decodeForm, encodeEvents, encodeText, encodeTranscription, encodeTranslation } from './transcripts.js'

/** Upstreams that speak these protocols are relayed to; nothing is translated to them. */
const RELAYED = { encodeRequest: never, decodeResult: never, decodeError }

function never(): never {
  throw new GatewayError('internal', 'Audio is not translated between compatible protocols.')
}

/** Compatible speech: `POST …/audio/speech`, of clients alone. */
export const speech: SpeakCodec = {
  operation: 'speak',
  protocol: 'speech',
  server: { ...speaking, encodeResult: never, fields: SPEECH_FIELDS },
  client: { ...RELAYED, carries: SPEAK_CARRIES },
}

/** Compatible transcripts: `POST …/audio/transcriptions`, of clients alone. */
export const transcriptions: HearCodec & { readonly operation: 'transcribe' } = {
  operation: 'transcribe',
  protocol: 'transcriptions',
  forms: true,
  server: {
    decodeRequest: decodeForm(TRANSCRIPTIONS_FIELDS),
    encodeResult: encodeTranscription,
    encodeBytes: encodeText,
    encodeEvents,
    fields: TRANSCRIPTIONS_FIELDS,
  },
  client: { ...RELAYED, carries: HEAR_CARRIES },
}

/** Compatible translations into English: `POST …/audio/translations`, of clients alone. */
export const translations: HearCodec & { readonly operation: 'translate' } = {
  operation: 'translate',
  protocol: 'translations',
  forms: true,
  server: {
    decodeRequest: decodeForm(TRANSLATIONS_FIELDS),
    encodeResult: encodeTranslation,
    encodeBytes: encodeText,
    fields: TRANSLATIONS_FIELDS,
  },
  client: { ...RELAYED, carries: HEAR_CARRIES },
}

/** The native protocol: `:generateContent` with the modality of sound, or with a recording in the question. */
export const speechByGenerate: SpeakCodec = speechByText(generate)
export const transcriptionsByGenerate = transcriptsByText(generate, 'transcribe')
export const translationsByGenerate = transcriptsByText(generate, 'translate')
