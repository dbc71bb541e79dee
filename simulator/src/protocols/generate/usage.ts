import { badArgument, native } from '../../families/native.js'
import type { Faults } from '../../faults/table.js'
import { isObject } from '../../json.js'
import { endpoint, json } from '../../protocol.js'
import { type PromptTokens, promptTokens, spoiled } from '../../text/usage.js'
import { readMessage } from './proto.js'
import { readRequest } from './request.js'
import { JSON_HEADERS } from './stream.js'

/** What has been said so far. Thoughts are counted beside the rest. */
export interface Spent {
  readonly output: number
  readonly thoughts: number
}

/** `usageMetadata`: counts of zero are left out, as the protocol's JSON mapping does. */
export function usageMetadata(prompt: PromptTokens, { output, thoughts }: Spent, faults: Faults): object | undefined {
  const counts = {
    promptTokenCount: prompt.input,
    candidatesTokenCount: output || undefined,
    totalTokenCount: prompt.input + output + thoughts,
    promptTokensDetails: modalities(prompt),
    thoughtsTokenCount: thoughts || undefined,
  }
  return spoiled(counts, faults)
}

/** The tokens of a prompt by what they stand for. */
function modalities({ input, image, audio, file }: PromptTokens): readonly object[] {
  const counts = { TEXT: input - image - audio - file, IMAGE: image, AUDIO: audio, DOCUMENT: file }
  return Object.entries(counts).flatMap(([modality, tokenCount]) =>
    tokenCount === 0 ? [] : [{ modality, tokenCount }],
  )
}

/** `POST /v1beta/models/{model}:countTokens`: of contents alone, or of a whole request. */
export const countTokens = endpoint(
  native,
  'POST /v1beta/models/{model}:countTokens',
  { body: 'json', models: ['sim-generate'] },
  call => {
    const { contents, generateContentRequest: whole } = readMessage('CountTokensRequest', call.body)
    if (contents !== undefined && whole !== undefined) {
      throw badArgument('Only one of contents and generate_content_request may be set.')
    }
    const request = isObject(whole) ? whole : contents === undefined ? {} : { contents }
    const prompt = promptTokens(readRequest(request, call.parameter, call).text)
    return json({ totalTokens: prompt.input, promptTokensDetails: modalities(prompt) }, 200, JSON_HEADERS)
  },
)
