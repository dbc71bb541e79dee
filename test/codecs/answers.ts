import type { Part, TextResult } from '../../src/core/text.js'

function result(
  parts: readonly Part[],
  more: Partial<TextResult> = {},
  reason: 'stop' | 'tool' | 'length' | 'filter' = 'stop',
): TextResult {
  return {
    id: 'answer-1',
    model: 'upstream-model',
    created: 1_700_000_000,
    candidates: [{ parts, end: { reason } }],
    usage: { input: 20, output: 10 },
    ...more,
  }
}

function text(words: string): Part {
  return { type: 'text', text: words }
}

function call(id: string, name: string, args: string): Part {
  return { type: 'call', id, name, arguments: args }
}

/** Answers that every protocol can give, as far as it says of none that it cannot. */
export const ANSWERS: Readonly<Record<string, TextResult>> = {
  text: result([text('Rain, and then sun. ☂ 𝔘nicode “quotes” \n\t\\ </script> \u2028 end')]),
  'nothing at all': result([]),
  'cut short': result([text('Rain and')], {}, 'length'),
  filtered: result([text('It')], {}, 'filter'),
  'a call': result([call('call_1', 'weather', '{"city":"Bonn","days":[1,2,{"a":null}]}')], {}, 'tool'),
  'a call without arguments': result([call('call_1', 'clock', '')], {}, 'tool'),
  'text and several calls': result(
    [
      text('I look.'),
      call('call_1', 'weather', '{"city":"Bonn"}'),
      call('call_2', 'weather', '{"city":"Bonn"}'),
      call('call_3', 'clock', '{}'),
    ],
    {},
    'tool',
  ),
  reasoning: result([{ type: 'reasoning', text: 'The sky is dark.' }, text('Rain.')]),
  'reasoning and a call': result([{ type: 'reasoning', text: 'I look.' }, call('call_1', 'clock', '{}')], {}, 'tool'),
  refusal: result([{ type: 'refusal', text: 'I cannot help with that.' }]),
  usage: result([text('Rain.')], { usage: { input: 120, output: 40, cached: 100, reasoning: 30 } }),
  'no usage': {
    id: 'answer-1',
    model: 'upstream-model',
    candidates: [{ parts: [text('Rain.')], end: { reason: 'stop' } }],
  },
  'two candidates': {
    ...result([]),
    candidates: [
      { parts: [text('Rain.')], end: { reason: 'stop' } },
      { parts: [text('Sun.'), call('call_1', 'clock', '{}')], end: { reason: 'tool' } },
    ],
  },
  citations: result([
    {
      type: 'text',
      text: 'It rains.',
      citations: [{ url: 'https://example.com/', title: 'Weather', start: 0, end: 9 }],
    },
  ]),
  logprobs: result([
    {
      type: 'text',
      text: 'Rain',
      logprobs: [{ token: 'Rain', logprob: -0.5, bytes: [82, 97, 105, 110], top: [{ token: 'Rain', logprob: -0.5 }] }],
    },
  ]),
}

/** Answers with what the upstream of this protocol seals onto its thoughts. */
export function sealedAnswers(by: string): Readonly<Record<string, TextResult>> {
  const seal = { by, value: 'c2VhbGVkIHRob3VnaHRz' }
  return {
    'sealed reasoning': result([{ type: 'reasoning', text: 'The sky is dark.', seal }, text('Rain.')]),
    'hidden reasoning': result([{ type: 'reasoning', text: '', seal }, text('Rain.')]),
    'redacted reasoning': result([{ type: 'reasoning', text: '', redacted: true, seal }, text('Rain.')]),
    'sealed reasoning before a call': result(
      [{ type: 'reasoning', text: 'I look.', seal }, call('call_1', 'clock', '{}')],
      {},
      'tool',
    ),
  }
}
