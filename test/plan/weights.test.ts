import t from 'tap'
import { groupTargets } from '../../src/plan/weights.js'
import { modelOf } from '../helpers/config-builder.js'

/** `a3` is the upstream a with weight 3, `a` the same without one. */
function groups(...written: readonly string[]): unknown {
  const targets = written.map(text => {
    const [upstream = '', weight = ''] = [text.slice(0, 1), text.slice(1)]
    return weight === '' ? upstream : { upstream, weight: Number(weight) }
  })
  return groupTargets(modelOf(targets).targets).map(group => group.map(target => target.upstream).join(''))
}

t.test('targets without weights are alone, in order', async t => t.same(groups('a', 'b', 'c'), ['a', 'b', 'c']))
t.test('neighbours with weights share a group', async t => t.same(groups('a3', 'b1', 'c2'), ['abc']))
t.test('a target without a weight ends a group', async t =>
  t.same(groups('a1', 'b1', 'c', 'd1', 'e1'), ['ab', 'c', 'de']),
)
t.test('no targets, no groups', async t => t.same(groups(), []))
