import { join } from 'node:path'
import t from 'tap'
import { load } from '../../../src/config/load.js'
import { GatewayError } from '../../../src/core/errors.js'
import type { FailureCause } from '../../../src/core/failure-cause.js'
import { packageRoot } from '../../../src/core/package-root.js'
import type { Exchange } from '../../../src/core/plan.js'
import { causeOfFailure, isContentRefused } from '../../../src/features/fallbacks/cause.js'
import { readRecordings, recordingsFile } from '../../helpers/recordings.js'

/** Words that people know these by, anywhere in an answer. */
const KNOWN: readonly (readonly [FailureCause, RegExp])[] = [
  [
    'context_too_long',
    /context length|prompt (?:is )?too long|too many tokens|maximum number of tokens allowed|too_many_prompt_tokens/,
  ],
  ['content_refused', /content_policy|content_filter|moderation_blocked/],
]

async function rules() {
  const text = Buffer.from(`version: 1\nkeys: { me: { secret: { hash: "sha256:${'0'.repeat(64)}" } } }\n`)
  const loaded = await load({ file: join(packageRoot(), 'rules.yaml'), text, env: {} })
  return loaded.config?.protocols ?? {}
}

function protocolOf(url: string): string {
  if (/\/messages\b/.test(url)) return 'messages'
  return /:(?:stream)?[gG]enerateContent/.test(url) ? 'generate' : 'chat'
}

const file = recordingsFile()
t.test('recorded refusals are led by their cause, those of every provider', { skip: file === undefined }, async t => {
  const protocols = await rules()
  const counts = new Map<string, number>()
  for await (const { provider, request, response } of readRecordings(file ?? '')) {
    const { status, body } = response
    if (status < 400) continue
    const failures = protocols[protocolOf(request.url)]?.failures
    t.ok(failures, `the protocol of ${request.url} has rules`)
    const error = new GatewayError('upstream_rejected', 'no')
    const cause = causeOfFailure({ failures } as Exchange, { error, condition: status, said: Buffer.from(body) })
    const known = KNOWN.find(([, words]) => words.test(body))?.[0]
    if (known !== undefined || cause === 'context_too_long' || cause === 'content_refused') {
      t.equal(cause, known, `${provider} ${status}: ${body.slice(0, 160)}`)
    }
    if (status === 429) t.equal(cause, 'rate_limited', body.slice(0, 160))
    counts.set(cause ?? 'none', (counts.get(cause ?? 'none') ?? 0) + 1)
  }
  console.log(`# MEASURED: recorded refusals by cause: ${JSON.stringify(Object.fromEntries(counts))}`)
  t.ok((counts.get('context_too_long') ?? 0) >= 6, 'there are some of several providers')
})

t.test(
  'of recorded answers with status 200, only those count as refused that say so',
  { skip: file === undefined },
  async t => {
    const protocols = await rules()
    let [answers, refused] = [0, 0]
    for await (const { provider, request, response } of readRecordings(file ?? '')) {
      const { status, body } = response
      if (status !== 200) continue
      answers++
      const exchange = { failures: protocols[protocolOf(request.url)]?.failures } as Exchange
      const text = body.toString()
      const documents = text.startsWith('{')
        ? [text]
        : [...text.matchAll(/^data: ?(\{.*)$/gm)].map(([, data = '']) => data)
      if (!documents.some(document => isContentRefused(exchange, Buffer.from(document)))) continue
      refused++
      t.match(text, /content_filter|block_?[rR]eason|SAFETY|refusal/, `${provider}: ${text.slice(0, 200)}`)
    }
    console.log(`# MEASURED: ${refused} of ${answers} recorded answers refuse the content`)
    t.ok(answers > 100)
  },
)
