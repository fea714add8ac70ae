define void @fragment(ptr noalias readonly %mat_a, ptr noalias %vec_b, i64 %group) !kernel !0 {
entry:
  %r7.0.0.one = insertelement <8 x i64> poison, i64 %group, i64 0
  %r7.0.0.all = shufflevector <8 x i64> %r7.0.0.one, <8 x i64> poison, <8 x i32> zeroinitializer
  %r7.0.0.factor = add <8 x i64> %r7.0.0.all, <i64 0, i64 0, i64 0, i64 0, i64 1, i64 1, i64 1, i64 1>
  %r7.0.0 = mul <8 x i64> %r7.0.0.factor, splat (i64 4)
  %r7.0.sum = add <8 x i64> %r7.0.0, <i64 0, i64 1, i64 2, i64 3, i64 0, i64 1, i64 2, i64 3>
  %r7.places = getelementptr double, ptr %vec_b, <8 x i64> %r7.0.sum
  %r7 = call <8 x double> @llvm.masked.gather.v8f64.v8p0(<8 x ptr> align 8 %r7.places, <8 x i1> splat (i1 true), <8 x double> zeroinitializer), !infreg !1, !access !2
  %r28.0.0.one = insertelement <32 x i64> poison, i64 %group, i64 0
  %r28.0.0.all = shufflevector <32 x i64> %r28.0.0.one, <32 x i64> poison, <32 x i32> zeroinitializer
  %r28.0.0.factor = add <32 x i64> %r28.0.0.all, <i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 1, i64 1, i64 1, i64 1, i64 1, i64 1, i64 1, i64 1, i64 1, i64 1, i64 1, i64 1, i64 1, i64 1, i64 1, i64 1>
  %r28.0.0 = mul <32 x i64> %r28.0.0.factor, splat (i64 16)
  %r28.0.sum = add <32 x i64> %r28.0.0, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10, i64 11, i64 12, i64 13, i64 14, i64 15, i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10, i64 11, i64 12, i64 13, i64 14, i64 15>
  %r28.places = getelementptr double, ptr %mat_a, <32 x i64> %r28.0.sum
  %r28 = call <32 x double> @llvm.masked.gather.v32f64.v32p0(<32 x ptr> align 8 %r28.places, <32 x i1> splat (i1 true), <32 x double> zeroinitializer), !infreg !3, !access !4
  %r31 = shufflevector <8 x double> %r7, <8 x double> poison, <8 x i32> <i32 1, i32 1, i32 1, i32 1, i32 5, i32 5, i32 5, i32 5>, !infreg !1
  %r34 = shufflevector <32 x double> %r28, <32 x double> poison, <8 x i32> <i32 1, i32 5, i32 9, i32 13, i32 17, i32 21, i32 25, i32 29>, !infreg !1
  %r35 = fneg <8 x double> %r34, !infreg !1
  %r36 = call <8 x double> @llvm.fma.v8f64(<8 x double> %r35, <8 x double> %r31, <8 x double> %r7), !infreg !1
  %r37 = select <8 x i1> <i1 false, i1 false, i1 true, i1 true, i1 false, i1 false, i1 true, i1 true>, <8 x double> %r36, <8 x double> %r7, !infreg !1
  %r38.0.0.one = insertelement <8 x i64> poison, i64 %group, i64 0
  %r38.0.0.all = shufflevector <8 x i64> %r38.0.0.one, <8 x i64> poison, <8 x i32> zeroinitializer
  %r38.0.0.factor = add <8 x i64> %r38.0.0.all, <i64 0, i64 0, i64 0, i64 0, i64 1, i64 1, i64 1, i64 1>
  %r38.0.0 = mul <8 x i64> %r38.0.0.factor, splat (i64 4)
  %r38.0.sum = add <8 x i64> %r38.0.0, <i64 0, i64 1, i64 2, i64 3, i64 0, i64 1, i64 2, i64 3>
  %r38.places = getelementptr double, ptr %vec_b, <8 x i64> %r38.0.sum
  call void @llvm.masked.scatter.v8f64.v8p0(<8 x double> %r37, <8 x ptr> align 8 %r38.places, <8 x i1> splat (i1 true)), !infreg !1, !access !2
  ret void
}
declare <8 x double> @llvm.masked.gather.v8f64.v8p0(<8 x ptr>, <8 x i1>, <8 x double>)
declare <32 x double> @llvm.masked.gather.v32f64.v32p0(<32 x ptr>, <32 x i1>, <32 x double>)
declare <8 x double> @llvm.fma.v8f64(<8 x double>, <8 x double>, <8 x double>)
declare void @llvm.masked.scatter.v8f64.v8p0(<8 x double>, <8 x ptr>, <8 x i1>)
!0 = !{i32 4, i32 2, i64 1099511627776}
!1 = !{!"ix", <8 x i32> splat (i32 0), !"wi.ix", <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 0, i32 1, i32 2, i32 3>, !"wg.off", <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 1>, !"wg.size", i32 4, !"wg.ix", !"group"}
!2 = !{!"vec_b", <8 x i64> <i64 0, i64 1, i64 2, i64 3, i64 0, i64 1, i64 2, i64 3>, <8 x i1> splat (i1 true), !"group", <8 x i64> splat (i64 4)}
!3 = !{!"ix", <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 0, i32 1, i32 2, i32 3, i32 0, i32 1, i32 2, i32 3, i32 0, i32 1, i32 2, i32 3, i32 0, i32 1, i32 2, i32 3, i32 0, i32 1, i32 2, i32 3, i32 0, i32 1, i32 2, i32 3, i32 0, i32 1, i32 2, i32 3>, !"wi.ix", <32 x i32> <i32 0, i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 1, i32 2, i32 2, i32 2, i32 2, i32 3, i32 3, i32 3, i32 3, i32 0, i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 1, i32 2, i32 2, i32 2, i32 2, i32 3, i32 3, i32 3, i32 3>, !"wg.off", <32 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>, !"wg.size", i32 4, !"wg.ix", !"group"}
!4 = !{!"mat_a", <32 x i64> <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10, i64 11, i64 12, i64 13, i64 14, i64 15, i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10, i64 11, i64 12, i64 13, i64 14, i64 15>, <32 x i1> splat (i1 true), !"group", <32 x i64> splat (i64 16)}
