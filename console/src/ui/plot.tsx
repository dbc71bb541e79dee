import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { shade } from '../settings.js'

export interface Line {
  readonly label: string
  readonly values: readonly (number | null)[]
  /** A token of the stylesheet, such as `--c1`. */
  readonly colour: string
  readonly dash?: readonly number[]
  readonly fill?: string
  readonly bars?: true
  /** What is said of it, if that is not what is drawn. */
  readonly said?: readonly (number | null)[]
}

interface PlotProps {
  readonly title: string
  /** One sentence made of the data. */
  readonly summary: string
  /** Seconds since the epoch. */
  readonly times: readonly number[]
  readonly lines: readonly Line[]
  readonly unit: (value: number) => string
  readonly height: number
  readonly isLog?: boolean
  /** Before this time, seconds since the epoch, nothing was counted. */
  readonly gapUntil?: number | undefined
}

const ROWS = 60

function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim()
}

function clock(seconds: number, isLong: boolean): string {
  const date = new Date(seconds * 1000)
  const two = (number: number): string => String(number).padStart(2, '0')
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`
  if (!isLong) return time
  return `${two(date.getDate())}.${two(date.getMonth() + 1)}. ${time}`
}

/** Points that no line leads to would not be seen. */
function alone(plot: uPlot, series: number): number[] {
  const values = plot.data[series] ?? []
  const isThere = (at: number): boolean => values[at] !== null && values[at] !== undefined
  return Array.from(values, (_, at) => at).filter(at => isThere(at) && !isThere(at - 1) && !isThere(at + 1))
}

/** Powers of ten. */
function decades(low: number, high: number): number[] {
  const first = Math.ceil(Math.log10(low) - 1e-9)
  const last = Math.floor(Math.log10(high) + 1e-9)
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => 10 ** (first + at))
}

/** What is not known is grey, so that it does not look like nothing. */
function drawGap(plot: uPlot, until: number | undefined): void {
  if (until === undefined) return
  const { left, top, width, height } = plot.bbox
  const end = Math.min(left + width, plot.valToPos(until, 'x', true))
  plot.ctx.fillStyle = token('--gap')
  plot.ctx.fillRect(left, top, Math.max(0, end - left), height)
}

function options(props: PlotProps, width: number, gapUntil: () => number | undefined): uPlot.Options {
  const { lines, unit, height, isLog = false, times } = props
  const axis = { stroke: token('--text3'), font: '12px system-ui, sans-serif', ticks: { show: false } }
  const isLong = (times.at(-1) ?? 0) - (times[0] ?? 0) > 86_400 * 1.5
  const bars = uPlot.paths.bars?.({ size: [0.8, 24] })
  return {
    width,
    height,
    padding: [8, 20, 0, 0],
    legend: { show: false },
    hooks: { drawClear: [plot => drawGap(plot, gapUntil())] },
    cursor: { sync: { key: 'page' }, y: false, points: { size: 6 }, drag: { x: false, y: false } },
    scales: {
      x: { time: true },
      y: isLog
        ? {
            distr: 3,
            log: 10,
            range: (_self, low, high) => [
              Math.max(0.1, 10 ** Math.floor(Math.log10(low || 1))),
              10 ** Math.ceil(Math.log10((high || 10) * 1.001)),
            ],
          }
        : { range: (_self, _low, high) => [0, high > 0 ? high * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 24,
        space: 90,
        values: (_self, ticks) => ticks.map(tick => clock(tick, isLong)),
      },
      {
        ...axis,
        size: 60,
        space: height < 100 ? 28 : 36,
        grid: { stroke: token('--line'), width: 1 },
        ...(isLog ? { splits: (_self: uPlot, _axis: number, low: number, high: number) => decades(low, high) } : {}),
        values: (_self, ticks) =>
          ticks.map(tick =>
            tick === null ? '' : isLog && Math.log10(tick) % 1 !== 0 ? '' : unit(tick).replace(/\.0+(?=\s)/, ''),
          ),
      },
    ],
    series: [
      {},
      ...lines.map(({ label, colour, dash, fill, bars: asBars }) => ({
        label,
        stroke: token(colour),
        width: asBars ? 0 : 1.75,
        spanGaps: false,
        points: { show: !asBars, size: 4, filter: alone },
        ...(dash === undefined ? {} : { dash: [...dash] }),
        ...(asBars && bars !== undefined ? { fill: token(colour), paths: bars } : {}),
        ...(fill === undefined ? {} : { fill: token(fill) }),
      })),
    ],
  }
}

/** A plot that a keyboard can walk along and a screen reader can read: arrows move the cursor, and the data are there as a table. */
export function Plot(props: PlotProps) {
  const { title, summary, times, lines, unit } = props
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const at = useSignal<number | undefined>(undefined)
  const isTable = useSignal(false)
  const latest = useRef(props)
  latest.current = props
  const theme = shade.value
  const shape = lines.map(line => line.label).join()
  useEffect(() => {
    const { current } = place
    if (current === null) return
    const data = (): uPlot.AlignedData => [
      [...latest.current.times],
      ...latest.current.lines.map(line => [...line.values]),
    ]
    const made = new uPlot(
      options(latest.current, current.clientWidth || 300, () => latest.current.gapUntil),
      data(),
      current,
    )
    made.over.addEventListener('mousemove', () => {
      at.value = made.cursor.idx ?? undefined
    })
    made.over.addEventListener('mouseleave', () => {
      at.value = undefined
    })
    plot.current = made
    const observer = new ResizeObserver(() =>
      made.setSize({ width: current.clientWidth, height: latest.current.height }),
    )
    observer.observe(current)
    return () => {
      observer.disconnect()
      made.destroy()
    }
  }, [theme, shape, props.isLog])
  useEffect(() => {
    plot.current?.setData([[...times], ...lines.map(line => [...line.values])])
  }, [times, lines])
  const walk = (event: KeyboardEvent): void => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (step === undefined || times.length === 0) return
    event.preventDefault()
    const next = Math.min(times.length - 1, Math.max(0, (at.value ?? times.length) + step))
    at.value = next
    const left = plot.current?.valToPos(times[next] ?? 0, 'x') ?? 0
    plot.current?.setCursor({ left, top: 10 })
  }
  const shown = at.value
  const said = (index: number): string =>
    `${clock(times[index] ?? 0, true)}: ${lines
      .map(({ label, values, said: words = values }) => {
        const value = words[index]
        return `${label} ${value === null || value === undefined ? 'nothing' : unit(value)}`
      })
      .join(', ')}`
  return (
    <div class="plot">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move its cursor */}
      <div ref={place} role="img" aria-label={`${title}. ${summary}`} tabIndex={0} onKeyDown={walk} />
      <div class="legend">
        {lines.map(({ label, colour, dash, bars }) => (
          <span key={label}>
            <i
              class={`${bars ? 'b' : ''} ${dash === undefined ? '' : dash[0] === 6 ? 'da' : 'do'}`}
              data-colour={colour.slice(2)}
            />
            {label}
          </span>
        ))}
        {props.gapUntil === undefined ? null : (
          <span>
            <i class="b" data-colour="gap" />
            not counted before {clock(props.gapUntil, false)}
          </span>
        )}
        <span class="at" aria-live="polite">
          {shown === undefined ? '' : said(shown)}
        </span>
        <button
          type="button"
          class="link"
          aria-expanded={isTable.value}
          onClick={() => (isTable.value = !isTable.value)}
        >
          {isTable.value ? 'Hide data' : 'Data table'}
        </button>
      </div>
      {isTable.value ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard must be able to scroll it
        <section class="scroll" tabIndex={0} aria-label={`${title}, data`}>
          <table>
            <thead>
              <tr>
                <th>Time</th>
                {lines.map(({ label }) => (
                  <th class="n" key={label}>
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.slice(-ROWS).map((time, row) => (
                <tr key={time}>
                  <td>{clock(time, true)}</td>
                  {lines.map(({ label, values, said: words = values }) => {
                    const value = words[Math.max(0, times.length - ROWS) + row]
                    return (
                      <td class="n" key={label}>
                        {value === null || value === undefined ? '—' : unit(value)}
                      </td>
                    )
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ) : null}
    </div>
  )
}

/** A small line without axes, beside a figure. */
export function Spark({ values }: { readonly values: readonly (number | null)[] }) {
  const points = thinned(values, 60)
  const high = Math.max(...points.map(value => value ?? 0), 1e-9)
  let path = ''
  let isOpen = false
  points.forEach((value, index) => {
    if (value === null) {
      isOpen = false
      return
    }
    path += `${isOpen ? 'L' : 'M'}${((100 * index) / Math.max(1, points.length - 1)).toFixed(1)} ${(22 - (20 * value) / high).toFixed(1)}`
    isOpen = true
  })
  return (
    <svg class="sp" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
      <path d={path} />
    </svg>
  )
}

function thinned(values: readonly (number | null)[], most: number): readonly (number | null)[] {
  const size = Math.max(1, Math.ceil(values.length / most))
  const result: (number | null)[] = []
  for (let start = 0; start < values.length; start += size) {
    const part = values.slice(start, start + size).filter(value => value !== null)
    result.push(part.length === 0 ? null : Math.max(...part))
  }
  return result
}
