import { clock, count, milliseconds, NONE, text, usd } from '../format.js'
import { useFetched } from '../state/fetched.js'
import type { Line, ShownRequest, Step } from '../types.js'
import { Icon } from '../ui/icon.js'
import { Card, Copy, Empty, Failure, State } from '../ui/parts.js'
import { Content, Headers, Translation } from './request-detail.js'

/** One request: what became of it, and its way as a timeline. */
export function Request({ id }: { readonly id: string }) {
  const { data, error, again } = useFetched<ShownRequest>(`/admin/requests/${encodeURIComponent(id)}`)
  const shown = data.value
  return (
    <>
      <div class="bar-of-controls">
        <a class="btn" href="/requests">
          <Icon name="back" /> Requests
        </a>
        {shown === undefined ? null : (
          <>
            <Copy text={location.href} label="Copy link" />
            <Copy text={JSON.stringify(shown, undefined, 2)} label="Copy JSON" />
            {shown.line.key === undefined ? null : (
              <a class="btn" href={`/requests?key=${encodeURIComponent(shown.line.key)}`}>
                More of {shown.line.key}
              </a>
            )}
          </>
        )}
      </div>
      <Failure error={error.value} again={again} />
      {shown === undefined ? null : <Detail shown={shown} />}
    </>
  )
}

function Detail({ shown }: { readonly shown: ShownRequest }) {
  const { line, steps, detail } = shown
  return (
    <div class="grid">
      <Verdict line={line} />
      <Card title="Timeline" class="w12">
        {steps.length === 0 ? (
          <Empty>No upstream was asked: the gateway answered itself, as said above.</Empty>
        ) : (
          <Timeline line={line} steps={steps} />
        )}
      </Card>
      <Facts title="Request" facts={requestFacts(line)} />
      <Facts title="Usage and cost" facts={usageFacts(line)} />
      <Translation line={line} steps={steps} detail={detail} />
      <Headers detail={detail} />
      <Content shown={shown} />
    </div>
  )
}

function Verdict({ line }: { readonly line: Line }) {
  const { status, outcome, error, cause, key = NONE, model = NONE, upstream, total_ms, cost_usd } = line
  const tries = Array.isArray(line.attempts) ? line.attempts.length : 1
  const isGood = outcome === 'ok'
  const way = [key, model, ...(upstream === undefined ? [] : [upstream])].join(' → ')
  return (
    <section class={`say w12 ${isGood ? 'ok' : outcome === 'client_error' ? 'warn' : 'bad'}`} aria-label="Verdict">
      <Icon name={isGood ? 'ok' : outcome === 'client_error' ? 'warn' : 'bad'} />
      <span>
        <strong>
          {status}
          {isGood && tries > 1 ? ` after ${tries} attempts` : ''}
        </strong>{' '}
        {line.route ?? `${line.method} ${line.path ?? ''}`} · {way} · {text(milliseconds(total_ms))}
        {cost_usd === undefined ? '' : ` · ${usd(cost_usd)} USD`}
        {error === undefined ? null : (
          <>
            <br />
            <code>{error}</code> {cause}
          </>
        )}
      </span>
    </section>
  )
}

const PARTS = [
  ['queue', 'waiting for a connection'],
  ['connect', 'connecting'],
  ['wait', 'waiting for content'],
  ['stream', 'receiving'],
] as const

/** Where the parts of an attempt begin and end. */
function partsOf({ start, placed, sent, answered, end }: Step): readonly (readonly [number, number])[] {
  const place = placed ?? start
  const send = Math.max(place, sent ?? place)
  const first = answered ?? end
  return [
    [start, place],
    [place, send],
    [send, first],
    [first, end],
  ]
}

function Timeline({ line, steps }: { readonly line: Line; readonly steps: readonly Step[] }) {
  const whole = Math.max(line.total_ms, ...steps.map(({ end }) => end), 0.01)
  const percent = (value: number): string => `${(100 * value) / whole}%`
  const marks = [0, 0.25, 0.5, 0.75, 1].map(part => part * whole)
  const begin = steps[0]?.start ?? whole
  return (
    <div class="timeline">
      <div class="tl-row tl-axis" aria-hidden="true">
        <span />
        <div>
          {marks.map(mark => (
            <span key={mark}>{mark === 0 ? '0' : text(milliseconds(mark))}</span>
          ))}
        </div>
      </div>
      <div class="tl-row">
        <span class="tl-name">gateway</span>
        <div class="tl-track" role="img" aria-label={`${text(milliseconds(begin))} until the first attempt`}>
          <i class="own" style={{ left: '0%', width: percent(begin) }} />
        </div>
        <span class="mut">{text(milliseconds(begin))} to begin</span>
      </div>
      {steps.map((step, index) => {
        const parts = partsOf(step)
        const said = parts.map(([from, to], at) => `${text(milliseconds(to - from))} ${PARTS[at]?.[1]}`).join(', ')
        return (
          <div class="tl-row" key={`${step.upstream}${step.start}`}>
            <span class="tl-name">
              {index + 1} {step.upstream}
            </span>
            <div class="tl-track" role="img" aria-label={`Attempt at ${step.upstream}: ${said}`}>
              {parts.map(([from, to], at) => (
                <i
                  key={PARTS[at]?.[0]}
                  class={PARTS[at]?.[0] ?? ''}
                  style={{ left: percent(from), width: percent(to - from) }}
                />
              ))}
            </div>
            <span class="mut">
              {step.phase === 'ok' ? (
                <>
                  first content {text(milliseconds(step.answered))}, {step.status ?? 200}
                </>
              ) : (
                <State level="bad">
                  {step.status ?? ''} {step.phase === 'status' ? 'refused' : step.phase.replaceAll('_', ' ')}
                </State>
              )}
            </span>
          </div>
        )
      })}
      <div class="legend">
        {PARTS.map(([name, words]) => (
          <span key={name}>
            <i class={`b ${name}`} />
            {words}
          </span>
        ))}
      </div>
    </div>
  )
}

type Fact = readonly [name: string, value: string | undefined]

function requestFacts(line: Line): readonly Fact[] {
  return [
    ['Id', line.id],
    ['Trace', line.trace],
    ['Ended', clock(line.time)],
    ['Key', line.key],
    ['Model', line.model],
    ['Upstream', line.upstream],
    ['Model there', line.target],
    ['Stream', line.stream ? 'yes' : 'no'],
    ['Attempts', Array.isArray(line.attempts) ? count(line.attempts.length) : undefined],
    ['Plan', String(line.generation)],
  ]
}

function usageFacts(line: Line): readonly Fact[] {
  const number = (value: unknown): string | undefined => (typeof value === 'number' ? count(value) : undefined)
  return [
    ['Input tokens', number(line.input_tokens)],
    ['of these cached', number(line.cached_tokens)],
    ['Output tokens', number(line.output_tokens)],
    ['of these reasoning', number(line.reasoning_tokens)],
    ['Cost', line.cost_usd === undefined ? undefined : `${usd(line.cost_usd)} USD`],
    ['First byte', line.first_ms === undefined ? undefined : text(milliseconds(line.first_ms))],
    ['Bytes in', number(line.bytes_in)],
    ['Bytes out', number(line.bytes_out)],
    ['Events', number(line.events)],
  ]
}

function Facts({ title, facts }: { readonly title: string; readonly facts: readonly Fact[] }) {
  return (
    <Card title={title} class="w6">
      <dl>
        {facts.map(([name, value]) =>
          value === undefined ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
        )}
      </dl>
    </Card>
  )
}
