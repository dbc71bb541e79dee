import { short } from '../format.js'

const STEPS = 80
const [WIDTH, HEIGHT, EDGE] = [640, 320, 36]
/** With more texts, their numbers alone are beside the points. */
const MAX_NAMED = 16

type Vector = readonly number[]

/** The first two principal components of vectors: where they differ most. By powers of their Gram matrix, which is small. */
function project(vectors: readonly Vector[]): {
  readonly points: readonly (readonly [number, number])[]
  readonly share: number
} {
  const size = vectors[0]?.length ?? 0
  const mean = Array.from(
    { length: size },
    (_, at) => vectors.reduce((sum, one) => sum + (one[at] ?? 0), 0) / vectors.length,
  )
  const centred = vectors.map(one => one.map((value, at) => value - (mean[at] ?? 0)))
  const gram = centred.map(one =>
    centred.map(other => one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0)),
  )
  const total = gram.reduce((sum, row, at) => sum + (row[at] ?? 0), 0) || 1
  const axes = [0, 1].map(axis => {
    let vector = gram.map((_, at) => Math.cos(at * 2.399 + axis))
    let value = 0
    for (let step = 0; step < STEPS; step++) {
      const next = gram.map(row => row.reduce((sum, one, at) => sum + one * (vector[at] ?? 0), 0))
      value = Math.hypot(...next)
      if (value < 1e-12) break
      vector = next.map(one => one / value)
    }
    // What this axis explains is taken out before the next one is looked for.
    for (const [row, line] of gram.entries())
      for (const column of line.keys())
        line[column] = (line[column] ?? 0) - value * (vector[row] ?? 0) * (vector[column] ?? 0)
    return { value, places: vector.map(one => one * Math.sqrt(value)) }
  })
  const points = vectors.map((_, at) => [axes[0]?.places[at] ?? 0, axes[1]?.places[at] ?? 0] as const)
  return { points, share: axes.reduce((sum, { value }) => sum + value, 0) / total }
}

/** Texts as points: near each other where they are alike. */
export function LikenessMap({
  vectors,
  names,
}: {
  readonly vectors: readonly Vector[]
  readonly names: readonly string[]
}) {
  if (vectors.length < 3) return null
  const { points, share } = project(vectors)
  const [left, top] = [0, 1].map(axis => Math.min(...points.map(point => point[axis] ?? 0)))
  const [right, bottom] = [0, 1].map(axis => Math.max(...points.map(point => point[axis] ?? 0)))
  const scale = Math.min(
    (WIDTH - 2 * EDGE) / ((right ?? 0) - (left ?? 0) || 1),
    (HEIGHT - 2 * EDGE) / ((bottom ?? 0) - (top ?? 0) || 1),
  )
  const middle = [((left ?? 0) + (right ?? 0)) / 2, ((top ?? 0) + (bottom ?? 0)) / 2] as const
  const percent = Math.round(100 * Math.min(1, share))
  return (
    <figure class="map">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`A map of ${vectors.length} texts; the table below has their likeness.`}
      >
        {points.map(([across, down], at) => {
          const x = WIDTH / 2 + (across - middle[0]) * scale
          const y = HEIGHT / 2 + (down - middle[1]) * scale
          const isRight = x > WIDTH / 2
          const name = points.length > MAX_NAMED ? '' : ` ${short(names[at] ?? '', 28)}`
          return (
            <g key={at}>
              <circle cx={x} cy={y} r={6} />
              <text class="map-name" x={isRight ? x - 12 : x + 12} y={y + 5} text-anchor={isRight ? 'end' : 'start'}>
                {at + 1}
                <tspan class="hide">{name}</tspan>
              </text>
            </g>
          )
        })}
      </svg>
      <figcaption class="mut">
        Near is alike. Two of {vectors[0]?.length} dimensions (principal components), which have {percent} % of the
        differences.
      </figcaption>
    </figure>
  )
}
