import t from 'tap'
import { ModelIndex } from '../../src/plan/model-index.js'
import { Regions } from '../../src/plan/regions.js'
import { modelOf, upstreamOf } from '../helpers/config-builder.js'

t.test('what a caller reaches does not depend on what others have asked for', async t => {
  const upstreams = {
    home: upstreamOf('https://us.example', { region: 'us' }),
    far: upstreamOf('https://asia.example', { region: 'asia' }),
  }
  const regions = new Regions(upstreams, new ModelIndex({ gpt: modelOf('home'), '*': modelOf('far') }))
  t.notOk(regions.reaches('us gpt', new Set(['eu'])))
  t.ok(regions.reaches('gpt', new Set(['eu', 'us'])))
})
