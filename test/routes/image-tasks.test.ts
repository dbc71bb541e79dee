import t from 'tap'
import { loadText, planOf } from './plans.js'

const plan = planOf(await loadText('version: 1\ninterfaces: [image-tasks]'))

t.test('the interface of image-task proxies is these routes', async t => {
  t.same(plan.routes.map(({ id }) => id).sort(), [
    'GET /mj/image/{id}',
    'GET /mj/task/{id}/fetch',
    'GET /mj/task/{id}/image-seed',
    'HEAD /mj/image/{id}',
    'POST /mj/insight-face/swap',
    'POST /mj/submit/action',
    'POST /mj/submit/blend',
    'POST /mj/submit/change',
    'POST /mj/submit/describe',
    'POST /mj/submit/edits',
    'POST /mj/submit/imagine',
    'POST /mj/submit/modal',
    'POST /mj/submit/shorten',
    'POST /mj/submit/simple-change',
    'POST /mj/submit/upload-discord-images',
    'POST /mj/submit/video',
    'POST /mj/task/list-by-condition',
  ])
})

t.test('they take a key in either place, and answer errors in their family', async t => {
  for (const { caller, errors, shipped } of plan.routes) {
    t.same(caller, [
      { in: 'header', name: 'authorization', scheme: 'Bearer' },
      { in: 'header', name: 'mj-api-secret' },
    ])
    t.equal(errors, 'image-tasks')
    t.ok(shipped)
  }
})

t.test('each of them is behind a mode, too', async t => {
  for (const { id, method } of plan.routes) {
    const path = id.slice(id.indexOf(' ') + 1).replace('{id}', 'task_7')
    for (const [prefix, mode] of [
      ['fast', 'fast'],
      ['mj-fast', 'fast'],
      ['relax', 'relax'],
      ['mj-relax', 'relax'],
      ['turbo', 'turbo'],
      ['mj-turbo', 'turbo'],
    ]) {
      const match = plan.match(method, `/${prefix}${path}`)
      t.equal(match.route?.id, id)
      t.match(match.route && match.params, { mode })
    }
    t.equal(plan.match(method, `/slow${path}`).route, undefined)
  }
})

t.test('only images are answered without a key', async t => {
  const signed = plan.routes.filter(({ task }) => task?.signed === true).map(({ id }) => id)
  t.same(signed, ['GET /mj/image/{id}', 'HEAD /mj/image/{id}'])
})
