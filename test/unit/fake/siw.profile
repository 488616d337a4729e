dat_info-profile 1
node_type 4
transport_type 1
vendor_id 6450548
vendor_part_id 1
max_mr_size 18446744073709551615
device_cap_flags 2097152
atomic_cap 0
max_qp 102400
max_qp_wr 32768
max_sge 6
max_sge_rd 1
max_cq 102400
max_cqe 3276800
max_mr 1024000
max_pd 102400
max_mw 0
max_ah 0
max_qp_rd_atom 128
max_res_rd_atom 13107200
max_qp_init_rd_atom 128
max_srq 102400
max_srq_wr 327680
max_srq_sge 6
link_layer 2
max_mtu 3
active_mtu 3
max_msg_sz 4294967295
ethernet_lid 0
gid 0 ib other
mw_1_error 95 # Operation not supported
mw_2_error 95 # Operation not supported
srq_error 0
srq_resize_error 95 # Operation not supported
srq_limit_error 0
cq_error 0
cqe_min 1
resize_error 95 # Operation not supported
rc_error 0
max_inline 80
queues_not_empty 1
round_up 0
recv_needs_segment 1
negative_errors 1
flushes_late 0
err_refuses_posts 0
err_recv_stays 1
err_is_final 1
err_send_stays 1
takes_cqes_along 0
dangling_cqes 0
