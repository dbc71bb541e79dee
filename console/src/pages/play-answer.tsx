import { short } from '../format.js'
import { Pre } from '../ui/parts.js'
import { LikenessMap } from './likeness-map.js'
import { Follow } from './play-follow.js'
import type { Whole } from './whole-answer.js'

interface Props {
  readonly whole: Whole
  readonly input: string
  readonly ask: (path: string) => Promise<Whole>
}

interface Data {
  readonly data?: readonly {
    readonly embedding?: readonly number[]
    readonly b64_json?: string
    readonly url?: string
  }[]
  readonly results?: readonly {
    readonly index?: number
    readonly relevance_score?: number
    readonly flagged?: boolean
    readonly category_scores?: Readonly<Record<string, number>>
  }[]
  readonly text?: string
  readonly id?: string
  readonly object?: string
  readonly status?: string
  /** The id of an image task. */
  readonly result?: unknown
}

/** An answer as what it is: a map of likeness, a ranking, a picture, a sound; and always its JSON. */
export function Shown({ whole, input, ask }: Props) {
  const { type, url, status } = whole
  const data = (whole.data ?? {}) as Data
  const lines = input.split('\n').filter(Boolean)
  const vectors = (data.data ?? []).flatMap(({ embedding }) => (Array.isArray(embedding) ? [embedding] : []))
  return (
    <>
      {url === undefined ? null : type.startsWith('audio') ? (
        // biome-ignore lint/a11y/useMediaCaption: its text is what was typed beside it
        <audio controls src={url} />
      ) : type.startsWith('image') ? (
        <img class="made" src={url} alt={input} />
      ) : type.startsWith('video') ? (
        // biome-ignore lint/a11y/useMediaCaption: it is simulated or has none
        <video controls src={url} />
      ) : (
        <p>{type}</p>
      )}
      {vectors.length > 0 ? <LikenessMap vectors={vectors} names={lines} /> : null}
      {vectors.length > 0 ? <Likeness vectors={vectors} names={lines} /> : null}
      {(data.data ?? []).map(({ b64_json, url: remote }) =>
        b64_json === undefined ? (
          remote === undefined ? null : (
            <p key={remote}>
              <a href={remote} rel="noopener noreferrer" target="_blank">
                The picture is at its provider
              </a>
            </p>
          )
        ) : (
          <img class="made" key={b64_json.slice(0, 64)} src={`data:image/png;base64,${b64_json}`} alt={input} />
        ),
      )}
      {data.results === undefined ? null : <Results results={data.results} documents={lines.slice(1)} />}
      {data.text === undefined ? null : <p class="answer">{data.text}</p>}
      {data.object === 'video' && data.id !== undefined ? <Follow id={data.id} kind="video" ask={ask} /> : null}
      {typeof data.result === 'string' ? <Follow id={data.result} kind="image" ask={ask} /> : null}
      {whole.data === undefined ? null : (
        <details open={status >= 400}>
          <summary>JSON</summary>
          <Pre>{JSON.stringify(whole.data, shortened, 2).slice(0, 20_000)}</Pre>
        </details>
      )}
    </>
  )
}

/** For `JSON.stringify`: long texts and lists as their beginnings. */
export function shortened(_name: string, value: unknown): unknown {
  if (typeof value === 'string' && value.length > 400) return `${value.slice(0, 200)}… (${value.length} characters)`
  if (Array.isArray(value) && value.length > 20) return [...value.slice(0, 8), `… ${value.length} in all`]
  return value
}

function likeness(one: readonly number[], other: readonly number[]): number {
  let [product, left, right] = [0, 0, 0]
  for (let at = 0; at < one.length; at++) {
    const [a, b] = [one[at] ?? 0, other[at] ?? 0]
    product += a * b
    left += a * a
    right += b * b
  }
  return product / (Math.sqrt(left * right) || 1)
}

/** How alike the texts are: the cosine of their vectors. */
function Likeness({
  vectors,
  names,
}: {
  readonly vectors: readonly (readonly number[])[]
  readonly names: readonly string[]
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard must be able to scroll it
    <section class="heat" tabIndex={0} aria-label="Likeness">
      <table>
        <thead>
          <tr>
            <th>Likeness (cosine), {vectors[0]?.length} dimensions</th>
            {vectors.map((_, column) => (
              <th key={column}>{column + 1}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {vectors.map((vector, row) => (
            <tr key={row}>
              <th>
                {row + 1} {short(names[row] ?? '', 32)}
              </th>
              {vectors.map((other, column) => {
                const value = likeness(vector, other)
                return (
                  <td key={column}>
                    <span
                      class="cell"
                      style={{
                        background: `color-mix(in srgb, var(--c1) ${Math.round(Math.max(0, value) * 35)}%, transparent)`,
                      }}
                    >
                      {value.toFixed(2)}
                    </span>
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Results({
  results,
  documents,
}: {
  readonly results: NonNullable<Data['results']>
  readonly documents: readonly string[]
}) {
  return (
    <table>
      <tbody>
        {results.map((result, at) => (
          <tr key={`${at}:${result.index}`}>
            {result.relevance_score === undefined ? (
              <>
                <td>{result.flagged === true ? 'Flagged' : 'Not flagged'}</td>
                <td class="n">
                  {Object.entries(result.category_scores ?? {})
                    .sort(([, one], [, other]) => other - one)
                    .slice(0, 3)
                    .map(([name, score]) => `${name} ${score.toFixed(3)}`)
                    .join(', ')}
                </td>
              </>
            ) : (
              <>
                <td>{documents[result.index ?? 0]}</td>
                <td class="n">{result.relevance_score.toFixed(3)}</td>
              </>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
