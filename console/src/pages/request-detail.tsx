import { count } from '../format.js'
import type { Detail, Line, ShownRequest, Step } from '../types.js'
import { Card, Copy, type Level, Pre, State } from '../ui/parts.js'

const VERDICTS = {
  carried: ['ok', 'Carried'],
  approximated: ['warn', 'Approximated'],
  dropped: ['bad', 'Dropped'],
  refused: ['bad', 'Refused'],
  here: ['idle', 'Used by the gateway'],
  by_content: ['ok', 'Carried, by what it holds'],
} as const satisfies Readonly<Record<string, readonly [Level, string]>>

interface TranslationProps {
  readonly line: Line
  readonly steps: readonly Step[]
  readonly detail: Detail
}

/** What was translated and what was left out, field by field. */
export function Translation({ line, steps, detail: { fields } }: TranslationProps) {
  const translated = steps.findLast(step => step.translated !== undefined)?.translated
  const dropped = line.dropped ?? []
  const isDropped = new Set(dropped.map(name => name.replaceAll(/\[\d+\]/g, '[]')))
  const known = new Set(fields.map(({ field }) => field))
  const others = dropped.filter(name => !known.has(name.replaceAll(/\[\d+\]/g, '[]')))
  if (translated === undefined) {
    return (
      <Card title="Translation" class="w12">
        <p class="mut">
          {steps.length === 0
            ? 'No upstream was asked.'
            : "The upstream speaks the client's protocol: bytes passed unchanged."}
        </p>
      </Card>
    )
  }
  return (
    <Card title="Translation" class="w12" aside={<span class="mut">{translated.replace(' to ', ' → ')}</span>}>
      {fields.length === 0 ? (
        <p class="mut">The body was too large to keep an account of its fields.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th>Field</th>
              <th>What became of it</th>
              <th class="hide">How</th>
            </tr>
          </thead>
          <tbody>
            {fields.map(({ field, verdict, why }) => {
              const [level, word] = VERDICTS[isDropped.has(field) ? 'dropped' : verdict]
              return (
                <tr key={field}>
                  <td>
                    <code>{field}</code>
                  </td>
                  <td>
                    <State level={level}>{word}</State>
                  </td>
                  <td class="hide mut">{why}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      )}
      <p>
        {dropped.length === 0 ? (
          'Nothing was left out.'
        ) : (
          <>
            <State level="warn">Left out: {count(dropped.length)}</State> <code>{dropped.join(', ')}</code>
          </>
        )}
        {others.length === 0 || fields.length === 0
          ? ''
          : ' Those that are not in the table are of the answer or nested.'}
      </p>
    </Card>
  )
}

const HEADERS = [
  ['request', 'From the client'],
  ['upstream', 'To the upstream'],
  ['answer', 'To the client'],
] as const

/** Headers of the three messages that are known, without secrets. */
export function Headers({ detail: { headers } }: { readonly detail: Detail }) {
  if (headers === undefined)
    return (
      <Card title="Headers" class="w12">
        <p class="mut">Not kept: of good requests, the first 20 of each second have theirs.</p>
      </Card>
    )
  return (
    <Card title="Headers" class="w12" aside={<span class="mut">Secrets are masked</span>}>
      <div class="columns tight">
        {HEADERS.map(([name, title]) => {
          const pairs = headers[name]
          if (pairs === undefined || pairs.length === 0) return null
          return (
            <section key={name} aria-label={title}>
              <h3>{title}</h3>
              <dl class="headers">
                {pairs.map(([header, value], at) => (
                  <div key={`${at}:${header}`}>
                    <dt>{header.toLowerCase()}</dt>
                    <dd class={value === '[secret]' ? 'mut' : ''}>{value}</dd>
                  </div>
                ))}
              </dl>
            </section>
          )
        })}
      </div>
    </Card>
  )
}

/** What was said, of keys with capture alone. */
export function Content({ shown: { line, detail, withheld } }: { readonly shown: ShownRequest }) {
  const { content } = detail
  if (content === undefined) {
    return (
      <Card title="Content" class="w12">
        <p class="mut">
          {withheld === true ? (
            'This session may only look: content is shown to those who may change something.'
          ) : (
            <>
              Not captured for {line.key ?? 'this request'}. A key with <code>capture: {'{}'}</code> keeps it, beside
              receipts and masked; see{' '}
              <a href="/docs/receipts.html" target="_blank" rel="noopener">
                receipts
              </a>
              .
            </>
          )}
        </p>
      </Card>
    )
  }
  return (
    <Card title="Content" class="w12" aside={<span class="mut">As its key captures it</span>}>
      <div class="columns tight">
        <Said title="Body of the request" text={content.request} cut={content.cut?.request ?? 0} />
        <Said title="Body of the answer" text={content.answer} cut={content.cut?.answer ?? 0} />
      </div>
    </Card>
  )
}

function Said({
  title,
  text = '',
  cut,
}: {
  readonly title: string
  readonly text: string | undefined
  readonly cut: number
}) {
  return (
    <section aria-label={title}>
      <div class="ch">
        <h3>{title}</h3>
        <Copy text={text} />
      </div>
      <Pre>{text === '' ? 'Nothing.' : pretty(text)}</Pre>
      {cut === 0 ? null : <p class="mut">{count(cut)} more bytes are not kept.</p>}
    </section>
  )
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}
