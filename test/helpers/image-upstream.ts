import type { TaskAnswer, TaskRequest, TaskScript } from './task-upstream.js'

/** Eight bytes by which PNG files begin, and some more. */
export const PICTURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, ...Array(504).fill(7)])

const BUTTONS = [{ customId: 'MJ::JOB::upsample::1::5f3c', emoji: '', label: 'U1', type: 2, style: 2 }]

export const DONE = {
  ...{ status: 'SUCCESS', progress: '100%', imageUrl: '/attachments/1.png', buttons: BUTTONS },
  properties: { finalPrompt: 'A cat --v 6' },
}

/** What of a request an answer depends on. */
export interface Wire {
  /** Answers a submit; undefined: the task is taken. */
  submit?(request: TaskRequest): TaskAnswer | undefined
  /** The records of a task, the last one again and again. */
  readonly records?: readonly object[]
  /** Answers a poll in place of those; undefined: they hold. */
  poll?(id: string): TaskAnswer | undefined
}

/** The protocol of image-task proxies. Ids are digits, counted on from a large number. */
export function imageProxy({ submit, records = [DONE], poll }: Wire = {}): TaskScript {
  const polls = new Map<string, number>()
  let count = 0
  return request => {
    const { method, target } = request
    if (method === 'POST') {
      const result = `13200981734${10_000 + ++count}`
      return (
        submit?.(request) ?? { body: { code: 1, description: '提交成功', result, properties: { instanceId: '99' } } }
      )
    }
    const [, id = '', what] = /\/mj\/task\/([^/]+)\/(\S+)$/.exec(target) ?? []
    if (what === 'image-seed') return { body: { code: 1, description: 'ok', result: '1448093651' } }
    if (what !== 'fetch') return { body: PICTURE, headers: { 'content-type': 'image/png' } }
    const at = polls.get(id) ?? 0
    polls.set(id, at + 1)
    return poll?.(id) ?? { body: { id, action: 'IMAGINE', ...records[Math.min(at, records.length - 1)] } }
  }
}

/** A configuration with the upstream `up` of the proxy's kind and the models of both bots on it. */
export function imageYaml(origin: string, task = 'poll: { every: 20ms }', more = ''): string {
  return `version: 1
store: { type: memory }
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"] }
  other: { secret: { env: OTHER_KEY }, models: ["*"] }
  niji: { secret: { env: NIJI_KEY }, models: [niji] }
upstreams:
  up: { kind: midjourney-proxy, base: "${origin}", secret: { env: UPSTREAM_KEY }, tasks: { ${task} } }
models: { midjourney: up, niji: up, direct: { upstream: up, as: NIJI_JOURNEY } }
${more}`
}
