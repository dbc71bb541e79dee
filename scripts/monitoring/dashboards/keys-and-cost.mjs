import { bars, line } from '../panels.mjs'

export const keys = {
  uid: 'model-gateway-cost',
  title: 'Model gateway: keys and cost',
  description: 'Who uses what, what it costs, and what is left of limits and budgets.',
  rows: [
    {
      title: 'Cost',
      panels: [
        line('Cost by model', 'What requests cost, as it would add up in an hour at the present rate.', 'currencyUSD', [
          ['sum by (model) (rate(gateway_cost_usd_total{@}[@])) * 3600', '{{model}}'],
        ]),
        line(
          'Cost by upstream',
          'What requests cost, as it would add up in an hour at the present rate.',
          'currencyUSD',
          [['sum by (upstream) (rate(gateway_cost_usd_total{@}[@])) * 3600', '{{upstream}}']],
        ),
        bars(
          'Cost by group in the last 24 hours',
          'What the keys of each group cost, without its inner groups.',
          'currencyUSD',
          'sum by (group) (increase(gateway_group_cost_usd_total{@}[24h]))',
          '{{group}}',
        ),
      ],
    },
    {
      title: 'Budgets and limits',
      panels: [
        line(
          'Budgets left',
          'What is left of each budget in its window, less what requests in flight hold.',
          'currencyUSD',
          [['min by (scope, name, window) (gateway_budget_left_usd{@})', '{{scope}} {{name}}, {{window}}']],
        ),
        line('Budgets used', 'What has been spent of each budget in its window.', 'currencyUSD', [
          ['max by (scope, name, window) (gateway_budget_used_usd{@})', '{{scope}} {{name}}, {{window}}'],
        ]),
        bars(
          'Fullest limits',
          'Share that is used of the limits which are closest to their end. Those of keys only with per_key.',
          'percentunit',
          'topk(20, max by (scope, name, limit, window) (gateway_limit_used_ratio{@}))',
          '{{scope}} {{name}}: {{limit}}, {{window}}',
          { max: 1 },
        ),
      ],
    },
    {
      title: 'Groups',
      panels: [
        line('Requests by group', 'Requests each second of the keys of each group.', 'reqps', [
          ['sum by (group) (rate(gateway_group_requests_total{@}[@]))', '{{group}}'],
        ]),
        line('Tokens by group', 'Tokens each second of the keys of each group, as in the ledger.', 'suffix: tokens/s', [
          ['sum by (group) (rate(gateway_group_tokens_total{@}[@]))', '{{group}}'],
        ]),
      ],
    },
    {
      title: 'Keys, if admin.metrics has per_key',
      panels: [
        bars(
          'Keys by cost',
          'The twenty keys that cost most in the last 24 hours.',
          'currencyUSD',
          'topk(20, sum by (key) (increase(gateway_key_cost_usd_total{@}[24h])))',
          '{{key}}',
        ),
        bars(
          'Keys by tokens',
          'The twenty keys that used most tokens in the last 24 hours.',
          'short',
          'topk(20, sum by (key) (increase(gateway_key_tokens_total{@}[24h])))',
          '{{key}}',
        ),
        bars(
          'Keys by requests',
          'The twenty keys that sent most requests in the last 24 hours.',
          'short',
          'topk(20, sum by (key) (increase(gateway_key_requests_total{@}[24h])))',
          '{{key}}',
        ),
      ],
    },
  ],
}
