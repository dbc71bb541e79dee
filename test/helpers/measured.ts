import type { Test } from 'tap'
import { FEATURES } from '../../src/features/index.js'
import type { Kernel } from '../../src/kernel/kernel.js'
import { ADMIN_SECRET, adminLine } from './admin.js'
import { startTestGateway, type TestGateway } from './gateway.js'
import { type MetricsPage, readMetrics } from './metrics-text.js'
import { type Answer, request } from './raw-client.js'

/** How long a page may take to become as expected, milliseconds. */
const PATIENCE_MS = 90_000

/** A gateway of this process whose metrics can be read. */
export interface Measured {
  readonly gateway: TestGateway
  /** Of its admin listener. */
  readonly origin: string
  readonly kernel: Kernel
  /** Its file. */
  readonly yaml: string
  scrape(options?: { readonly accept?: string; readonly key?: string }): Promise<Answer>
  page(): Promise<MetricsPage>
  /** Scrapes until the page is as expected. */
  pageWhere(isExpected: (page: MetricsPage) => boolean): Promise<MetricsPage>
}

/** `metrics`: what the file has at `admin.metrics`. */
export async function measuredGateway(
  t: Test,
  yaml: string,
  metrics = '',
  env: Readonly<Record<string, string>> = {},
): Promise<Measured> {
  const { line, origin } = await adminLine(metrics === '' ? '' : `, metrics: ${metrics}`)
  let kernel: Kernel | undefined
  const spy = {
    name: 'spy',
    open: (one: Kernel) => {
      kernel = one
      return {}
    },
    compile: () => undefined,
  }
  const all = { GATEWAY_ADMIN_KEY: ADMIN_SECRET, ...env }
  const text = `${yaml}${line}\n`
  const gateway = await startTestGateway(t, text, { env: all, features: [...FEATURES, spy] })
  const scrape: Measured['scrape'] = ({ accept, key = ADMIN_SECRET } = {}) =>
    request(t, origin, '/metrics', { key, ...(accept !== undefined && { headers: { accept } }) })
  const page = async (): Promise<MetricsPage> => readMetrics((await scrape()).text, false)
  const pageWhere: Measured['pageWhere'] = async isExpected => {
    const end = performance.now() + PATIENCE_MS
    for (;;) {
      const known = await page()
      if (isExpected(known)) return known
      if (performance.now() > end) throw new Error(`not as expected:\n${valuesOf(known)}`)
    }
  }
  return { gateway, origin, kernel: kernel as unknown as Kernel, yaml: text, scrape, page, pageWhere }
}

function valuesOf({ samples }: MetricsPage): string {
  const shown = samples.filter(({ name, value }) => value !== 0 && !name.endsWith('_bucket'))
  return shown.map(({ name, labels, value }) => `${name} ${JSON.stringify(labels)} ${value}`).join('\n')
}

export function askChat({ gateway }: Measured, model: string, more: object = {}): Promise<Answer> {
  const body = { model, messages: [{ role: 'user', content: 'Tell me of the sea.' }], ...more }
  return gateway.request('/v1/chat/completions', { body })
}
