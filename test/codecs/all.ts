import { chat } from '../../src/codecs/chat/index.js'
import { converse } from '../../src/codecs/converse/index.js'
import { generate } from '../../src/codecs/generate/index.js'
import { messages } from '../../src/codecs/messages/index.js'
import { responses } from '../../src/codecs/responses/index.js'
import type { TextCodec } from '../../src/core/codec.js'

/** The codecs of text. */
export const TEXT_CODECS: readonly TextCodec[] = [chat, responses, messages, generate, converse]
