import { parameter, setParameters } from '../router.js'
import { useFetched } from '../state/fetched.js'
import type { PlanAnswer } from '../types.js'
import { lazyPart } from '../ui/lazy.js'
import { Card, Failure, Segments } from '../ui/parts.js'
import { Explain } from './explain.js'
import { Graph } from './graph.js'

const VIEWS = ['graph', 'explain', 'file', 'generations'] as const

/** CodeMirror is larger than the rest of the console: it comes only with the file. */
const Draft = lazyPart(() => import('./draft.js').then(one => one.Draft))
const Versions = lazyPart(() => import('./versions.js').then(one => one.Versions))

export function Plan() {
  const plan = useFetched<PlanAnswer>('/admin/plan', 10_000)
  const view = VIEWS.find(one => one === parameter('view')) ?? 'graph'
  const { value } = plan.data
  return (
    <>
      <div class="bar-of-controls">
        <Segments
          label="View"
          options={VIEWS}
          value={view}
          onChange={next => setParameters({ view: next, generation: undefined })}
        />
        {value === undefined ? null : (
          <span class="mut">
            Plan {value.generation} serves · {value.digest.slice(0, 12)}
          </span>
        )}
      </div>
      <Failure error={plan.error.value} again={plan.again} />
      {view === 'graph' && value !== undefined ? (
        <Card title="Keys, models, upstreams">
          <Graph plan={value} />
        </Card>
      ) : null}
      {view === 'explain' ? <Explain plan={value} /> : null}
      {view === 'file' ? <Draft /> : null}
      {view === 'generations' ? <Versions /> : null}
    </>
  )
}
