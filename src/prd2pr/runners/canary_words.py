"""Ordinary words of ordinary test names, from which canaries take theirs."""

SUBJECTS = """
account address amount archive article balance basket batch bonus booking bucket budget button cache calendar
campaign card cart catalog category channel chapter charge client column comment contact contract counter
country coupon course credit currency customer delivery deposit detail device discount document draft driver
email employee entry event export factor feature field filter folder footer format gateway group header
history import index input interval invoice item journal keyboard label language layout ledger letter level
limit line link listing locale location margin market matrix member menu merge message meter method model
module month name network notice number offer option order owner package page parcel parser partner path
payment period person phone picture plan player point policy portal position price printer product profile
project quantity query queue quote range rate rating reader receipt record refund region report request reset
result retry review reward route rule sample schedule schema score screen search section segment sender series
session setting shipment signal slot source stage state status step stock storage store stream subject summary
supplier survey symbol table tag target task tax team template ticket timer title token topic total track
transfer unit update upload user value variant vendor version visit voucher wallet warehouse window worker
zone
"""

ASPECTS = """
adds alignment applies boundaries bounds calculation changes collects combines counts default details empty
fallback grouping handling initial keeps limits lookup mapping matches merges mixed multiple nested normalises
numbers ordering pairs parsing parts position ranges reads removes rendering replaces resets returns rounding
rules selection sequence simple single sorted splits steps sums totals trims update values widths words
"""
